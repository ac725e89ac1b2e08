// The same request in other languages, ready to run.
// literal quotes a text; several lines stay lines, unless they hold what is special in the language.
const literal = (text, mark, special) =>
  text.includes('\n') && !special.test(text) ? mark + text + mark : JSON.stringify(text)
const object = headers => JSON.stringify(headers, null, 2).replaceAll('\n', '\n  ')
const goCheck = '\n\tif err != nil {\n\t\tlog.Fatal(err)\n\t}'
export const samples = {
  curl({ method, url, headers, body }) {
    const quote = text => `'${text.replaceAll("'", `'\\''`)}'` // a shell cannot escape within single quotes
    const lines = Object.entries(headers).map(([name, value]) => `-H ${quote(`${name}: ${value}`)}`)
    if (body !== undefined) lines.push(`--data-raw ${quote(body)}`)
    return [`curl -i ${method === 'GET' ? '' : `-X ${method} `}${quote(url)}`, ...lines].join(' \\\n  ')
  },
  JavaScript: ({ method, url, headers, body }) => `fetch("${url}", {
  method: "${method}",
  headers: ${object(headers)},${body === undefined ? '' : `
  body: ${literal(body, '`', /[`\\$]/)},`}
}).then(async response => {
  console.log(response.status, await response.text())
})`,
  Python: ({ method, url, headers, body }) => `from http import client

connection = client.${url.startsWith('https') ? 'HTTPSConnection' : 'HTTPConnection'}("${new URL(url).host}")
connection.request("${method}", "${url.slice(new URL(url).origin.length)}",
  headers=${object(headers)}${body === undefined ? '' : `,
  body=${literal(body, "'''", /'|\\/)}.encode()`})
response = connection.getresponse()
print(response.status, response.read().decode())`,
  Go: ({ method, url, headers, body }) => `package main

import (\n\t"log"\n\t"net/http"\n\t"os"${body === undefined ? '' : '\n\t"strings"'}\n)

func main() {
	request, err := http.NewRequest("${method}",
		"${url}",
		${body === undefined ? 'nil' : `strings.NewReader(${literal(body, '`', /`/)})`})${goCheck}${
    Object.entries(headers).map(([name, to]) => `\n\trequest.Header.Set("${name}", ${JSON.stringify(to)})`).join('')}
	response, err := http.DefaultClient.Do(request)${goCheck}
	response.Write(os.Stdout)
}`,
}
