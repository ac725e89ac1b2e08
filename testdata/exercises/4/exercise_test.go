package main

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
)

func init() { statusOfCode["precondition_failed"] = 412 }

func TestLostUpdate(t *testing.T) {
	const newMax = `{"name":"Max","categoryId":1}`
	tagOf := func(s *service) string { return s.do("GET /pets/1", "").Header.Get("ETag") }
	t.Run("of twenty who have read the same pet, one replaces it", func(t *testing.T) {
		s := slowService(t)
		tag, statuses := "If-Match: "+tagOf(s), make(chan int)
		for range 20 {
			go func() { statuses <- s.do("PUT /pets/1", newMax, tag).StatusCode }()
		}
		count := map[int]int{}
		for range 20 {
			count[<-statuses]++
		}
		equal(t, "statuses", map[int]int{200: 1, 412: 19}, count)
	})
	t.Run("each change makes a new tag, also after a restart", func(t *testing.T) {
		path, seen := freshPath(t), map[string]bool{}
		for _, pet := range []string{`{"name":"Rex","categoryId":1}`, newMax,
			`{"name":"Max","categoryId":2}`, `{"name":"Max","categoryId":2,"status":"sold"}`} {
			s := newService(t, Options{Data: path})
			s.do("PUT /pets/1", pet)
			tag := tagOf(s)
			if seen[tag] || !regexp.MustCompile(`^"[!#-~]+"$`).MatchString(tag) {
				t.Errorf("%s has the tag %q, which is old or not in quotes", pet, tag)
			}
			seen[tag] = true
			s.do("PATCH /inventory/1", `{"quantity":9}`)
			equal(t, "tag after a change of the stock", tag, tagOf(s))
		}
	})
	t.Run("refuses what has not the tag", func(t *testing.T) {
		s := newService(t, Options{})
		tag := tagOf(s)
		for _, ifMatch := range []string{`"*"`, `"old", *`, strings.Trim(tag, `"`), "W/" + tag} {
			s.expectError("PUT /pets/1", newMax, "precondition_failed", "", "If-Match: "+ifMatch)
		}
		s.expectError("PUT /pets/2", newMax, "precondition_failed", "", "If-Match: "+tag)
		equal(t, "tag afterwards", tag, tagOf(s))
		s.expectError("PUT /pets/77", newMax, "not_found", "", "If-Match: "+tag)
		equal(t, "ETag of a 404", "", s.do("GET /pets/77", "").Header.Get("ETag"))
	})
	t.Run("takes a star, or one of several tags, also in a second line", func(t *testing.T) {
		s := newService(t, Options{})
		equal(t, "status", 200, s.do("PUT /pets/1", newMax, "If-Match: *").StatusCode)
		r := httptest.NewRequest("PUT", "/pets/1", strings.NewReader(newMax))
		r.Header = http.Header{"X-Api-Key": {"demo-enterprise"},
			"If-Match": {`"old"`, `"older", ` + tagOf(s) + ` ,"oldest"`}}
		equal(t, "status", 200, s.exchange(r).StatusCode)
	})
}
