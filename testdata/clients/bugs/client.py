# The client of docs/testing.md with the bug that BUG names, or without one.
import itertools, json, os, re, time, urllib.error, urllib.parse, urllib.request

def has(bug):
    return os.environ.get("BUG") == bug

class APIError(Exception):
    def __init__(self, response):
        super().__init__(json.load(response)["code"])
        self.status, self.wait = response.status, response.headers["Retry-After"]

def send(url, method="GET", body=None, key="demo-free", timeout=1):
    headers = {"Authorization": "Bearer " + key, "Content-Type": "application/json"}
    request = urllib.request.Request(url, body and json.dumps(body).encode(), headers, method=method)
    if has("no timeout"):
        timeout = None
    try:
        with urllib.request.urlopen(request, timeout=timeout) as response:
            return json.loads(response.read() or "null"), response.headers
    except urllib.error.HTTPError as response:
        raise APIError(response) from None

def call(url, method="GET", body=None, *args, within=60, **options):
    end = time.monotonic() + within
    for attempt in itertools.count():
        try:
            return send(url, method, body, *args, **options)
        except APIError as e:
            error, wait = e, e.wait and int(e.wait)
            if has(f"a {e.status} is final"):
                raise
            if has(f"a {e.status} is retried"):
                wait = 1
            if has("Retry-After is ignored") and wait:
                wait = 0.25 * 2**attempt
            if has("Retry-After in milliseconds") and wait:
                wait /= 1000
            if has("an error is no error") and not wait:
                return None, {}
        except OSError as e:  # no connection, no response, or none in time
            error, wait = e, None if method in ("POST", "PATCH") else 0.1 * 2**attempt
            timed_out = isinstance(getattr(e, "reason", e), TimeoutError)
            if has("a lost POST is retried") and not timed_out or has("a timed-out POST is retried") and timed_out:
                wait = 0.1
            if has("a lost GET is not retried") and not timed_out or has("a timed-out GET is not retried") and timed_out:
                raise
        if has("no body in a retry"):
            body = None
        last = attempt == (1 if has("only one retry") else 4) and not has("no end of tries")
        late = time.monotonic() + (wait or 0) > end
        if has("each wait is limited, not all"):
            late = (wait or 0) > within
        if has("no wait is too long"):
            late = False
        if wait is None or last or late:
            raise error
        time.sleep(wait)

def pages(url):
    while url:
        page, headers = call(url)
        yield from page
        link = re.search('<(.*)>; rel="next"', headers.get("Link", ""))
        url = link and urllib.parse.urljoin(url, link[1])
        if has("no next page"):
            return
