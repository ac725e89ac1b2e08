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
	t.Run("of twenty who have read the same pet, one replaces it", func(t *testing.T) {
		s := newService(t, Options{})
		tag, statuses, count := tagOf(s), make(chan int, 20), map[int]int{}
		s.atOnce(func() { statuses <- s.send("PUT /pets/1", newMax, "If-Match", tag).StatusCode })
		for range 20 {
			count[<-statuses]++
		}
		equal(t, "statuses", count, map[int]int{200: 1, 412: 19})
	})
	t.Run("each change makes a new tag, also after a restart", func(t *testing.T) {
		path, seen := freshPath(t), map[string]bool{}
		for _, pet := range []string{`{"name":"Rex","categoryId":1}`, newMax,
			`{"name":"Max","categoryId":2}`, `{"name":"Max","categoryId":2,"status":"sold"}`} {
			s := newService(t, Options{Data: path})
			s.send("PUT /pets/1", pet)
			tag := tagOf(s)
			if seen[tag] || !regexp.MustCompile(`^"[!#-~]+"$`).MatchString(tag) {
				t.Errorf("%s has the tag %q, which is old or not in quotes", pet, tag)
			}
			seen[tag] = true
			s.send("PATCH /inventory/1", `{"quantity":9}`)
			equal(t, "tag after a change of the stock", tagOf(s), tag)
		}
	})
	t.Run("refuses what has not the tag", func(t *testing.T) {
		s := newService(t, Options{})
		tag := tagOf(s)
		for _, ifMatch := range []string{`"*"`, `"old", *`, strings.Trim(tag, `"`), "W/" + tag} {
			resp := s.send("PUT /pets/1", newMax, "If-Match", ifMatch)
			resp.expectError("precondition_failed", "")
		}
		s.send("PUT /pets/2", newMax, "If-Match", tag).expectError("precondition_failed", "")
		equal(t, "tag afterwards", tagOf(s), tag)
		s.send("PUT /pets/77", newMax, "If-Match", tag).expectError("not_found", "")
		equal(t, "ETag of a 404", s.send("GET /pets/77", "").Header.Get("ETag"), "")
	})
	t.Run("takes a star, or one of several tags, also in a second line", func(t *testing.T) {
		s := newService(t, Options{})
		equal(t, "status", s.send("PUT /pets/1", newMax, "If-Match", "*").StatusCode, 200)
		equal(t, "status", s.send("PUT /pets/1", newMax, "If-Match", `"old"`,
			"If-Match", `"older", `+tagOf(s)+` ,"oldest"`).StatusCode, 200)
	})
}
