package main

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
)

func TestLostUpdate(t *testing.T) {
	const newMax = `{"name":"Max","categoryId":1}`
	tagOf := func(s *service) string { return s.do("GET /pets/1", "").Header.Get("ETag") }
	t.Run("of twenty who have read the same pet, one replaces it", func(t *testing.T) {
		s := newService(t, Options{Data: freshPath(t)}) // a save lasts until the others are here
		tag, statuses := "If-Match: "+tagOf(s), make(chan int, 20)
		var clients sync.WaitGroup
		for range 20 {
			clients.Go(func() { statuses <- s.do("PUT /pets/1", newMax, tag).StatusCode })
		}
		clients.Wait()
		count := map[int]int{}
		for range 20 {
			count[<-statuses]++
		}
		equal(t, "statuses", map[int]int{200: 1, 412: 19}, count)
	})
	t.Run("each change makes a new tag, which stays until the next", func(t *testing.T) {
		s := newService(t, Options{Data: freshPath(t)})
		seen := map[string]bool{tagOf(s): true}
		for _, pet := range []string{newMax, `{"name":"Max","categoryId":2}`,
			`{"name":"Max","categoryId":2,"status":"sold"}`} {
			s.do("PUT /pets/1", pet)
			tag := tagOf(s)
			if seen[tag] || !regexp.MustCompile(`^"[!#-~]+"$`).MatchString(tag) {
				t.Errorf("%s has the tag %q, which is old or not in quotes", pet, tag)
			}
			seen[tag] = true
			s.do("PATCH /inventory/1", `{"quantity":9}`)
			equal(t, "tag after a change of the stock", tag, tagOf(s))
			s = newService(t, Options{Data: s.store.path}) // a restart makes no old tag valid
			seen[tagOf(s)] = true
		}
	})
	t.Run("refuses what has not the tag", func(t *testing.T) {
		s := newService(t, Options{})
		tag := tagOf(s)
		for _, ifMatch := range []string{`"old"`, `"*"`, `"old", *`, strings.Trim(tag, `"`),
			"W/" + tag} {
			s.expect("PUT /pets/1", newMax, 412, "precondition_failed", "If-Match: "+ifMatch)
		}
		s.expect("PUT /pets/2", newMax, 412, "precondition_failed", "If-Match: "+tag)
		equal(t, "tag afterwards", tag, tagOf(s))
		equal(t, "ETag of a 404", "", s.do("GET /pets/77", "").Header.Get("ETag"))
	})
	t.Run("takes any tag for a star, if there is such a pet", func(t *testing.T) {
		s := newService(t, Options{})
		equal(t, "status", 200, s.do("PUT /pets/1", newMax, "If-Match: *").StatusCode)
		equal(t, "status", 404, s.do("PUT /pets/77", newMax, "If-Match: *").StatusCode)
	})
	t.Run("takes one of several tags, also in a second line", func(t *testing.T) {
		s := newService(t, Options{})
		list := `"old",` + tagOf(s) + `, "older"`
		equal(t, "status", 200, s.do("PUT /pets/1", newMax, "If-Match: "+list).StatusCode)
		r := httptest.NewRequest("PUT", "/pets/1", strings.NewReader(newMax))
		r.Header = http.Header{"X-Api-Key": {"demo-enterprise"}, "If-Match": {`"old"`, tagOf(s)}}
		equal(t, "status", 200, s.exchange(r).StatusCode)
	})
}
