# A client that passes the tests beside it.
import json, re, time, urllib.error, urllib.parse, urllib.request

class APIError(Exception):
    def __init__(self, response):
        super().__init__(json.load(response)["code"])
        self.status, self.wait = response.status, response.headers["Retry-After"]

def send(url, method="GET", body=None, key="demo-free", timeout=1):
    headers = {"Authorization": "Bearer " + key, "Content-Type": "application/json"}
    request = urllib.request.Request(url, body and json.dumps(body).encode(), headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=timeout) as response:
            return json.loads(response.read() or "null"), response.headers
    except urllib.error.HTTPError as response:
        raise APIError(response) from None

def call(url, method="GET", *args, within=60, **options):
    end = time.monotonic() + within
    for attempt in range(5):
        try:
            return send(url, method, *args, **options)
        except APIError as e:
            error, wait = e, e.wait and int(e.wait)
        except OSError as e:  # no connection, no response, or none in time
            error, wait = e, None if method in ("POST", "PATCH") else 0.1 * 2**attempt
        if wait is None or attempt == 4 or time.monotonic() + wait > end:
            raise error
        time.sleep(wait)

def pages(url):
    while url:
        page, headers = call(url)
        yield from page
        link = re.search('<(.*)>; rel="next"', headers.get("Link", ""))
        url = link and urllib.parse.urljoin(url, link[1])
