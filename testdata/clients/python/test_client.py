import concurrent.futures, http.server, itertools, os, pytest, signal, threading, time
import urllib.error, urllib.request
from client import APIError, Client, NoResponse

BODIES = {"POST": {"name": "Käuze"}, "PUT": {"name": "Käuze"}, "PATCH": {"quantity": 5}}
FAILED = "503 failed_on_purpose"
MINUTE = ["-minute", "3s", "-keys", "keys.json"]

def start(petstore, flags, **options):
    """Returns a client of a new server, and the server."""
    server = petstore(*flags)
    return Client(server.url, **{"timeout": 1, "backoff": 0.1} | options), server

def check(petstore, flags, calls, waits=(), **options):
    """Makes calls, and compares what they send with the server's log. Each call has the outcomes of
    its requests. The last one says which error it raises, but for a third value."""
    (client, server), sent = start(petstore, flags, **options), []
    for request, outcomes, *raises in calls:
        method, path = request.split()
        error = NoResponse if "dropped" in outcomes[-1] else APIError if " " in outcomes[-1] else None
        if error := raises[0] if raises else error:
            with pytest.raises(error) as e:
                client.call(method, path, BODIES.get(method))
            assert error is NoResponse or f"{e.value.status} {e.value.code}" == outcomes[-1]
        else:
            record = client.call(method, path, BODIES.get(method))
            assert method not in ("POST", "PUT") or record["name"] == "Käuze"
        sent += [f"{request} {outcome}" for outcome in outcomes]
    end = time.monotonic()
    assert server.stop() == sent
    assert end - server.times[-1] < 0.9  # there is no wait after the last try
    near(server, waits)

def near(server, want):
    """Compares the last waits, in seconds. One may be longer, since machines are busy."""
    waits = [end - begin for begin, end in itertools.pairwise(server.times[-len(want) - 1:])]
    assert all(0.8 * w < wait < 1.6 * w + 0.4 for wait, w in zip(waits, want)), (waits, want)

@pytest.fixture
def serve():
    """Starts a server that does what petstore never does; returns its URL, and the methods it gets."""
    servers, methods = [], []
    def start(answer):
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                methods.append(self.command)
                status, headers, body = answer(self.path, methods)
                self.send_response_only(status)
                for header in headers.items():
                    self.send_header(*header)
                self.end_headers()
                self.wfile.write(body)
            do_POST = do_GET
        servers.append(http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler))
        threading.Thread(target=servers[-1].serve_forever, args=[0.01]).start()
        return f"http://127.0.0.1:{servers[-1].server_port}", methods
    yield start
    for server in servers:
        server.shutdown()
        server.server_close()

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

def test_an_API_error_is_returned_at_once_with_its_code_and_message(petstore):
    client, server = start(petstore, [])
    for method, path, outcome, message in [
        ("POST", "/pets", "400 invalid_field", "name "),
        ("GET", "/pets/99", "404 not_found", "No pet has the id 99"),
        ("PUT", "/pets", "405 method_not_allowed", "This path supports only"),
        ("DELETE", "/categories/1", "409 in_use", "Pet 1 "),
    ]:
        with pytest.raises(APIError, match="^" + message) as e:
            client.call(method, path, {} if method == "POST" else None)
        assert f"{e.value.status} {e.value.code}" == outcome
        assert server.requests()[-1] == f"{method} {path} {outcome}"
    assert len(server.stop()) == 4
    assert min(end - begin for begin, end in itertools.pairwise(server.times)) < 0.25  # no wait

def test_a_first_DELETE_that_finds_nothing_is_an_error(petstore):
    check(petstore, [], [("DELETE /pets/5", ["204"]), ("DELETE /pets/5", ["404 not_found"])])

def test_a_response_that_is_not_JSON_is_an_error_of_the_client(serve):
    url, methods = serve(lambda _, methods: (200 if methods == ["GET"] else 502, {}, b"<html>"))
    for method, status in ("GET", 200), ("POST", 502):
        with pytest.raises(APIError) as e:
            Client(url).call(method, "/pets", BODIES.get(method))
        assert (e.value.status, e.value.code) == (status, None)
    assert methods == ["GET", "POST"]

def test_a_body_that_is_cut_off_is_an_error_of_the_client(serve):
    url, methods = serve(lambda _, methods: (
        200, {"Content-Length": "9"}, b'["whole"]' if len(methods) == 2 else b'["who'))
    assert Client(url, backoff=0.1).call("GET", "/pets") == ["whole"]
    with pytest.raises(NoResponse):
        Client(url).call("POST", "/categories", BODIES["POST"])
    with pytest.raises(NoResponse):
        Client("http://127.0.0.1:1").call("POST", "/categories", BODIES["POST"])
    assert methods == ["GET", "GET", "POST"]

def test_waits_as_told_after_each_of_two_503s(petstore):
    check(petstore, ["-fail", "2/3"], [("POST /categories", [FAILED, FAILED, "201"])], [1, 1])

def test_gives_up_after_five_tries_with_the_last_error(petstore):
    check(petstore, ["-fail", "1/1"], [("GET /pets", 5 * [FAILED])], [1, 1, 1, 1])

def test_a_POST_or_PATCH_is_not_sent_again_after_a_503_without_Retry_After(petstore):
    os.chmod("zoo.json", 0o444)
    check(petstore, ["-data", "zoo.json"],
        [("POST /categories", ["503 save_failed"]), ("PATCH /inventory/1", ["503 save_failed"])])

def test_a_lost_GET_PUT_or_DELETE_is_sent_again(petstore):
    check(petstore, ["-drop", "1/2"], [
        ("GET /pets", ["dropped", "200"]),
        ("PUT /categories/2", ["dropped", "200"]),
        ("DELETE /pets/5", ["dropped", "404 not_found"], None)])

def test_a_lost_POST_or_PATCH_is_not_sent_again(petstore):
    check(petstore, ["-drop", "1/1"],
        [("POST /categories", ["dropped"]), ("PATCH /inventory/1", ["dropped"])])

def test_waits_grow_from_try_to_try_up_to_a_limit(petstore):
    check(petstore, ["-drop", "1/1"], [("GET /pets", 5 * ["dropped"])], [0.25, 0.5, 1, 1],
        backoff=0.25, max_wait=1)

def test_a_late_GET_is_sent_again_the_timeout_is_for_each_try(petstore):
    check(petstore, ["-delay", "8s", "-slow", "2/3"], [("GET /pets", ["200", "200", "200"])])

def test_a_late_POST_is_not_sent_again(petstore):
    check(petstore, ["-delay", "8s"], [("POST /categories", ["201"], NoResponse)])

def test_waits_for_the_next_minute_and_asks_no_more_than_needed(petstore):
    calls = 3 * [("GET /pets", ["200"])] + [("GET /pets", ["429 rate_limited", "200"])]
    check(petstore, MINUTE, calls, [2], key="minute")

def test_does_not_wait_for_the_next_day(petstore):
    calls = 3 * [("GET /pets", ["200"])] + [("GET /pets", ["429 rate_limited"])]
    check(petstore, ["-keys", "keys.json"], calls, key="day")

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

def test_lists_four_pages_and_more_each_record_once_and_in_order(petstore):
    client, server = start(petstore, ["-sample", "zoo.json"])
    ids = [pet["id"] for pet in client.list("/pets?limit=2&status=available")]
    assert ids == [1, 2, 3, 5, 3000000000, 9007199254740993, 9007199254740995, 9007199254740997]
    assert server.stop() == [f"GET /pets?{after}limit=2&status=available 200"
        for after in ("", "after=2&", "after=5&", "after=9007199254740993&")]

def test_a_fault_between_pages_is_retried_and_no_record_comes_twice(petstore):
    flags = [*MINUTE, "-fail", "2-2/1000000", "-only", "GET /categories"]
    client, server = start(petstore, flags, key="minute")
    assert [category["id"] for category in client.list("/categories?limit=1")] == [1, 2, 3, 4]
    assert server.stop() == ["GET /categories?" + page for page in (
        "limit=1 200", "after=1&limit=1 503 failed_on_purpose", "after=1&limit=1 200",
        "after=2&limit=1 429 rate_limited", "after=2&limit=1 200", "after=3&limit=1 200")]
    client, server = start(petstore, ["-keys", "keys.json"], key="day")
    with pytest.raises(APIError):  # a list is not shorter for a fault
        list(client.list("/categories?limit=1"))

def test_follows_the_next_link_under_another_base_path(petstore, serve):
    server = petstore()
    def proxy(path, _):
        if not path.startswith("/petstore/"):
            return 404, {}, b""
        url = server.url + path.removeprefix("/petstore")
        request = urllib.request.Request(url, headers={"X-API-Key": "demo-free"})
        with urllib.request.urlopen(request) as response:
            return response.status, response.headers, response.read()
    client = Client(serve(proxy)[0] + "/petstore")
    assert [pet["id"] for pet in client.list("/pets?limit=2")] == [1, 2, 3, 4, 5]
    assert server.stop() == [f"GET /pets?{after}limit=2 200" for after in ("", "after=2&", "after=4&")]

def test_eight_callers_share_one_client_and_none_waits_for_another(petstore):
    client, server = start(petstore, ["-delay", "500ms", "-fail", "6/1000000"], timeout=10)
    begin = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        records = pool.map(lambda name: client.call("POST", "/categories", {"name": name}), "ABCDEFGH")
    seconds = time.monotonic() - begin
    assert "".join(record["name"] for record in records) == "ABCDEFGH"
    statuses = [line.split()[2] for line in server.stop()]
    assert sorted(statuses[:8]) == 2 * ["201"] + 6 * ["503"] and statuses[8:] == 6 * ["201"]
    assert seconds < 4
