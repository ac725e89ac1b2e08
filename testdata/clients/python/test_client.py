import concurrent.futures, http.server, itertools, json, os, pathlib, pytest, re, signal
import threading, time, urllib.error, urllib.request
from client import APIError, Client, NoResponse

NAME = "Käuze 9007199254740993"
BODIES = {"POST": {"name": NAME}, "PUT": {"name": NAME}, "PATCH": {"quantity": 5}}
MINUTE = ["-minute", "3s", "-keys", "keys.json"]
ROWS = json.loads(pathlib.Path("rows.json").read_text())
os.chmod("zoo.json", 0o444)  # as a data file, it cannot be saved

def start(petstore, flags, **options):
    """Returns a client of a new server, and the server."""
    server = petstore(*flags)
    return Client(server.url, **{"timeout": 1, "backoff": 0.1} | options), server

def end(client, method, path, message=""):
    """Returns how a call ends, or the ids of a list; checks the record or the message."""
    try:
        if method == "LIST":
            return " ".join(str(record["id"]) for record in client.list(path))
        record = client.call(method, path, BODIES.get(method))
        assert method not in ("POST", "PUT") or record["name"] == NAME
        return "success"
    except NoResponse:
        return "no response"
    except APIError as e:
        assert str(e).startswith(message)
        return f"{e.status:d} {e.code}"

def near(server, want):
    """Compares the last waits, in seconds. One may be longer, since machines are busy."""
    waits = [end - begin for begin, end in itertools.pairwise(server.times[-len(want) - 1:])]
    assert all(0.9 * w - 0.1 < wait < 1.5 * w + 0.9 for wait, w in zip(waits, want)), (waits, want)

@pytest.mark.parametrize("row", ROWS, ids=[row["rule"] for row in ROWS])
def test_calls(petstore, row):
    client, server = start(petstore, row["flags"], **row.get("options", {}))
    for request, _, want, *message in row["calls"]:
        assert end(client, *request.split(), *message) == want
    now = time.monotonic()
    sent = [f"{request} {outcome}" for request, outcomes, *_ in row["calls"] for outcome in outcomes]
    assert server.stop() == [re.sub(r"LIST (.*\?)\S* ", r"GET \1", line) for line in sent]
    assert now - server.times[-1] < 0.9  # there is no wait after the last try
    near(server, row.get("waits", []))

@pytest.fixture
def serve():
    """A server that does what petstore never does, as its answer says, and notes the methods."""
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            self.server.methods.append(self.command)
            status, headers, body = self.server.answer(self.path)
            self.send_response_only(status)
            for header in headers.items():
                self.send_header(*header)
            self.end_headers()
            self.wfile.write(body)
        do_POST = do_GET
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.url, server.methods = f"http://127.0.0.1:{server.server_port}", []
        threading.Thread(target=server.serve_forever, args=[0.01]).start()
        yield server
        server.shutdown()

class Enough(Exception): pass

def cancel(client):
    """Cancels a call half a second after its begin, with an exception of the caller's own."""
    def enough(*_): raise Enough
    signal.signal(signal.SIGUSR1, enough)
    threading.Timer(0.5, os.kill, [os.getpid(), signal.SIGUSR1]).start()
    begin = time.monotonic()
    with pytest.raises(Enough):
        client.call("GET", "/pets")
    assert time.monotonic() - begin < 1.5

def test_a_response_that_is_not_JSON_is_an_error_of_the_client(serve):
    serve.answer = lambda _: (200 if serve.methods == ["GET"] else 502, {}, b"<html>")
    assert end(Client(serve.url), "GET", "/pets") == "200 None"
    assert end(Client(serve.url), "POST", "/pets") == "502 None"
    assert serve.methods == ["GET", "POST"]

def test_a_body_that_is_cut_off_is_an_error_of_the_client(serve):
    whole, part = b'["whole"]', b'["who'
    serve.answer = lambda _: (200, {"Content-Length": "9"}, whole if len(serve.methods) == 2 else part)
    assert Client(serve.url, backoff=0.1).call("GET", "/pets") == ["whole"]
    assert end(Client(serve.url), "POST", "/categories") == "no response"
    assert end(Client("http://127.0.0.1:1"), "POST", "/categories") == "no response"
    assert serve.methods == ["GET", "GET", "POST"]

def test_waits_for_the_end_of_a_ban_and_asks_nothing_meanwhile(petstore):
    client, server = start(petstore, ["-minute", "2s", "-keys", "keys.json"], key="minute")
    impatient = urllib.request.Request(server.url + "/pets", headers={"X-API-Key": "minute"})
    while "GET /pets 403 key_banned" not in server.requests():
        try:
            urllib.request.urlopen(impatient).close()
        except urllib.error.HTTPError as e:
            e.close()
    sent = len(server.requests())
    client.call("GET", "/pets")
    assert server.stop()[sent:] == ["GET /pets 403 key_banned", "GET /pets 200"]
    near(server, [9])

def test_a_cancelled_wait_ends_at_once(petstore):
    client, server = start(petstore, MINUTE, key="minute")
    for _ in range(3):
        client.call("GET", "/pets")
    cancel(client)
    assert server.stop()[3:] == ["GET /pets 429 rate_limited"]

def test_a_cancelled_request_ends_at_once(petstore):
    client, server = start(petstore, ["-delay", "8s"], timeout=20)
    cancel(client)
    assert server.stop() == ["GET /pets 200"]

def test_follows_the_next_link_under_another_base_path(petstore, serve):
    server = petstore()
    def proxy(path):
        if not path.startswith("/petstore/"):
            return 404, {}, b""
        url = server.url + path.removeprefix("/petstore")
        request = urllib.request.Request(url, headers={"X-API-Key": "demo-free"})
        with urllib.request.urlopen(request) as response:
            return response.status, response.headers, response.read()
    serve.answer = proxy
    assert end(Client(serve.url + "/petstore"), "LIST", "/pets?limit=2") == "1 2 3 4 5"
    assert server.stop() == [f"GET /pets?{after}limit=2 200" for after in ("", "after=2&", "after=4&")]

def test_eight_callers_share_one_client_and_none_waits_for_another(petstore):
    flags = ["-delay", "8s", "-slow", "1/1000000", "-fail", "2-7/1000000"]  # A is late, six others fail
    client, server = start(petstore, flags, timeout=2)
    put = lambda name: client.call("PUT", "/categories/1", {"name": name})["name"]
    begin = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        late = pool.submit(put, "A")
        time.sleep(0.3)
        names = "".join(pool.map(put, "BCDEFGH"))
    seconds = time.monotonic() - begin
    assert late.result() + names == "ABCDEFGH"
    statuses = [line.split()[2] for line in server.stop()]
    assert sorted(statuses[:7]) == ["200"] + 6 * ["503"] and statuses[7:] == 8 * ["200"]
    assert server.times[6] - begin < 1.8  # the others did not wait for A
    assert seconds < 5
