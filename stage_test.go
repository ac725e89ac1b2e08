package main

import (
	"net"
	"regexp"
	"strings"
	"testing"
)

// The commands of docs/stage.md do what it says. Here, curl presses the buttons of the page.
func TestStageMd(t *testing.T) {
	onlyIfAsked(t)
	const press = `press() {
  until curl -s -o /dev/null http://localhost:8080/healthz; do sleep 0.02; done
  curl -sS -w '=%{http_code}=' -H "X-API-Key: demo-pro" -H "Content-Type: application/json" "$@"
}
create() { press -d '{"name": "Birds"}' http://localhost:8080/categories; }
list() { press http://localhost:8080/categories; }
`
	scenes := blocks(t, "docs/stage.md", "sh")
	presses := []string{"list; create", "list", "create; list", "create", "list; post; list",
		"press -i http://localhost:8080/pets/1; kill $!; wait $!; cat stage.log; rm stage.log"}
	same(t, "blocks", len(presses), len(scenes))
	commands := press
	for i, scene := range scenes {
		commands += scene + presses[i] + "\n"
	}
	inShells(t, func(t *testing.T, shell string) {
		free, err := net.Listen("tcp", "localhost:0")
		if err != nil {
			t.Fatal(err)
		}
		free.Close()
		address := free.Addr().String()
		out := paste(t, shell, freshClone(t), strings.NewReplacer("localhost:8080", address,
			"./petstore", "./petstore -addr "+address).Replace(commands))
		same(t, "statuses", strings.Fields("=200= =201= =200= =503= =200= =201= =200= =200= =200="),
			regexp.MustCompile(`=\d+=`).FindAllString(out, -1))
		story := `(?s)=201=.*{"id":5,"name":"Birds"}\n\].*{"id":5,"name":"Birds"}\]\n=200=.*=503=` +
			`.*{"id":5,"name":"Birds"}\]\n=200=.*{"id":6,.*=201=.*Empty reply from server` +
			`.*{"id":7,"name":"Birds"}\]\n=200=.*{"id":8,"name":"Birds"}\]\n=200=` +
			`.*Deprecation: .*Sunset: .*saving failed.*saving works again.*dropped`
		if !regexp.MustCompile(story).MatchString(out) {
			t.Errorf("%s is not what happens:\n%s", story, out)
		}
	})
}
