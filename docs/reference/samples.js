// The same request in other languages, ready to run.
// literal quotes a text; several lines stay lines, unless they hold what is special in the language.
const literal = (text, mark, special) =>
  text.includes('\n') && !special.test(text) ? mark + text + mark : JSON.stringify(text)
const object = value => JSON.stringify(value, null, 2).replaceAll('\n', '\n  ')
// asObject writes JavaScript, and asStringify a body as an object, unless JSON.stringify would change it.
const asObject = value => object(value).replace(/^( *)"([a-z]\w*)":/gim, '$1$2:')
function asStringify(body) {
  const compact = text => text.replace(/\s/g, '')
  try {
    const value = JSON.parse(body)
    if (compact(JSON.stringify(value)) === compact(body)) return `JSON.stringify(${asObject(value)})`
  } catch {}
  return literal(body, '`', /[`\\$]/)
}
const goHeader = (name, value) => `\n\trequest.Header.Set("${name}", ${JSON.stringify(value)})`
const goCheck = '\n\tif err != nil {\n\t\tlog.Fatal(err)\n\t}'
export const samples = {
  curl({ method, url, headers, body }) {
    const quote = text => `'${text.replaceAll("'", `'\\''`)}'` // a shell cannot escape within single quotes
    const lines = Object.entries(headers).map(([name, value]) => `-H ${quote(`${name}: ${value}`)}`)
    if (body !== undefined) lines.push(`--data-raw ${quote(body)}`)
    return [`curl -i ${method === 'GET' ? '' : `-X ${method} `}${quote(url)}`, ...lines].join(' \\\n  ')
  },
  JavaScript({ method, url, headers, body }) {
    const options = [method !== 'GET' && `method: "${method}"`, `headers: ${asObject(headers)}`,
      body !== undefined && `body: ${asStringify(body)}`].filter(Boolean)
    return `const response = await fetch("${url}", {
  ${options.join(',\n  ')}
})
console.log(response.status, await response.text())`
  },
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
    Object.entries(headers).map(([name, value]) => goHeader(name, value)).join('')}
	response, err := http.DefaultClient.Do(request)${goCheck}
	response.Write(os.Stdout)
}
`,
}
