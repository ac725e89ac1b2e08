package main

import (
	"regexp"
	"strings"
	"testing"
)

func init() { statusOfCode["precondition_failed"] = 412 }

func TestLostUpdate(t *testing.T) {
	const newMax = `{"name":"Max","categoryId":1}`
	tagOf := func(s *service) string { return s.send("GET /pets/1", "").Header.Get("ETag") }
	t.Run("each change makes a new tag, also after a restart", func(t *testing.T) {
		path, seen := freshPath(t), map[string]bool{}
		for _, pet := range []string{`{"name":"Rex","categoryId":1}`, newMax,
			`{"name":"Max","categoryId":2}`, `{"name":"Max","categoryId":2,"status":"sold"}`} {
			s := newService(t, Options{Data: path})
			s.send("PUT /pets/1", pet)
			tag := tagOf(s)
			if seen[tag] || !regexp.MustCompile(`^"[!#-~]+"$`).MatchString(tag) {
				t.Fatalf("sent PUT /pets/1 %s, then GET /pets/1\n got the ETag %q\nwant a new one, "+
					"in double quotes", pet, tag)
			}
			seen[tag] = true
			s.send("PATCH /inventory/1", `{"quantity":9}`)
			equal(t, "ETag of GET /pets/1 after PATCH /inventory/1", tagOf(s), tag)
		}
	})
	for _, test := range []struct{ rule, ifMatch string }{ // in several lines, with the tag as TAG
		{"takes the tag", `"TAG"`},
		{"takes a star", `*`},
		{"takes one of several tags, in any line", "\"old\"\n\"older\", \"TAG\" ,\"oldest\""},
		{"refuses another tag", `"old"`},
		{"refuses a star in quotes", `"*"`},
		{"refuses a star in a list", `"old", *`},
		{"refuses a tag that goes on", `"TAG1"`},
		{"refuses a tag without quotes", `TAG`},
		{"refuses a tag without its end", `"TAG`},
		{"refuses a weak tag", `W/"TAG", W/ "TAG"`},
		{"refuses junk before a tag", `junk "TAG"`},
		{"refuses what is empty", ``},
		{"refuses a comma", `,`},
	} {
		t.Run(test.rule, func(t *testing.T) {
			s := newService(t, Options{})
			tag, header := tagOf(s), []string{}
			text := strings.ReplaceAll(test.ifMatch, "TAG", strings.Trim(tag, `"`))
			for line := range strings.SplitSeq(text, "\n") {
				header = append(header, "If-Match", line)
			}
			resp := s.send("PUT /pets/1", newMax, header...)
			if strings.HasPrefix(test.rule, "takes") {
				resp.expect(200, `{"id":1,"name":"Max","categoryId":1,"status":"available"}`)
				return
			}
			resp.expectError("precondition_failed", "")
			equal(t, "ETag of GET /pets/1 afterwards", tagOf(s), tag)
		})
	}
	t.Run("knows other pets, and those that do not exist", func(t *testing.T) {
		s := newService(t, Options{})
		s.send("PUT /pets/2", newMax, "If-Match", tagOf(s)).expectError("precondition_failed", "")
		s.send("PUT /pets/77", newMax, "If-Match", tagOf(s)).expectError("not_found", "")
		s.send("PUT /pets/77", newMax, "If-Match", "*").expectError("not_found", "")
		equal(t, "ETag of GET /pets/77", s.send("GET /pets/77", "").Header.Get("ETag"), "")
	})
	t.Run("of twenty who have read the same pet, one replaces it", func(t *testing.T) {
		s := newService(t, Options{})
		tag, statuses, count := tagOf(s), make(chan int, 20), map[int]int{}
		s.atOnce(func() { statuses <- s.send("PUT /pets/1", newMax, "If-Match", tag).StatusCode })
		for range 20 {
			count[<-statuses]++
		}
		equal(t, "statuses of twenty PUT /pets/1 If-Match "+tag, count, map[int]int{200: 1, 412: 19})
	})
}
