import concurrent.futures, itertools, json, multiprocessing, os, pathlib, pytest, signal, threading, time
from client import APIError, Client, NoResponse
from conftest import Script, Server

LONG = pathlib.Path("exact.json").read_text("utf-8").replace("Käuze", "Käuze" * 12000)
RULES = json.loads(pathlib.Path("rows.json").read_text("utf-8"))
os.chmod("zoo.json", 0o444)  # as a data file, it cannot be saved

def end(client, server, method, path, body):
    """Returns how a call or a list ends, and what the caller gets."""
    got = []
    try:
        if method != "LIST":
            return "success", client.call(method, path, body)
        for record in client.list(path):
            time.sleep(0 if got else 0.1)
            got.append([record, len(server.log)])  # with the number of requests until now
        return "success", got
    except KeyboardInterrupt:
        return "cancelled", got
    except NoResponse:
        return "no response", got
    except APIError as e:
        return f"{e.status:d}{e.code and ' ' + e.code or ''}: {e}", got

def near(times, want):
    """Compares the last waits, in seconds. One may be longer, since machines are busy."""
    waits = [end - begin for begin, end in itertools.pairwise(times)][-len(want):]
    good = [wait < 1.5 * w + 0.9 and (w == 0 or wait > 0.9 * w - 0.1) for wait, w in zip(waits, want)]
    assert all(good), f"waited {waits} s, not {want} s"

def equal(what, got, want):
    """Compares JSON, in which 1 is not True, from shortly before the first difference."""
    got, want = (json.dumps(value, ensure_ascii=False) for value in (got, want))
    begin = max(len(os.path.commonprefix([got, want])) - 50, 0)
    assert got == want, f"{what}: got ...{got[begin:][:200]}, want ...{want[begin:][:200]}"

def interrupt(server, requests):
    """Cancels a call soon after its request, as Ctrl-C does."""
    while len(server.log) < requests:
        time.sleep(0.05)
    time.sleep(0.2)
    os.kill(os.getpid(), signal.SIGINT)

def check(row, *calls):
    """Makes the calls of a row; compares how they end, the requests, and the waits."""
    signal.alarm(30)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # it may be ignored
    calls = [[*call, {}][:4] for call in calls for _ in range([*call, {}][3].get("times", 1))]
    scripted, base, common = "flags" not in row, row.get("base", ""), {"timeout": 2, "backoff": 0.1}
    server = Script(sum((call[1] for call in calls), [])) if scripted else Server(*row["flags"])
    options = [call[3].get("options", row.get("options", common)) for call in calls]
    clients = {repr(o): Client(row.get("url", server.url + base), **o) for o in options}
    lines, bodies, ended = [], [], []
    try:
        for (request, answers, want, more), own in zip(calls, options):
            method, path = [*request.split(), "/a"][:2]
            default = LONG if method in ("POST", "PUT", "PATCH") else "null"
            text = json.dumps(more["body"]) if "body" in more else default
            body, sent = json.loads(text), json.loads(text)
            if want == "cancelled":
                threading.Thread(target=interrupt, args=[server, len(lines) + 1], daemon=True).start()
            how, got = end(clients[repr(own)], server, method, path, body)
            ended.append(time.monotonic())
            equal(request, how[:len(want)], want)
            if "ids" in more:
                equal(request, " ".join(str(record["id"]) for record, _ in got), more["ids"])
            elif method == "LIST":
                pages = enumerate(answers, len(lines) + 1)
                want = [[r, i] for i, a in pages if isinstance(a, list) and a[0] == 200 for r in a[2]]
                equal(f"{request}: records, and requests until each", got, want)
            elif scripted and want == "success" and method != "DELETE":
                last = answers[-1][2] if isinstance(answers[-1], list) else {} if sent is None else sent
                equal(f"{request}: the result", got, last)
                equal(f"{request}: the caller's object", body, sent)
            for path, answer in zip(more.get("paths", [base + path] * len(answers)), answers):
                lines.append(f"{method} {path} {answer}".replace("LIST", "GET"))
                bodies.append(sent)
        equal("the requests and answers", server.stop(), lines)
        for line, got, want in zip(lines, server.bodies if scripted else [], bodies):
            equal(f"{line[:200]}: the body", got, want)
        times = iter(server.times)
        for (_, answers, _, more), now in zip(calls, ended):
            waits = more.get("waits", [])
            last = [0] if len(waits) < len(answers) else []  # there is no wait after the last try
            near([*itertools.islice(times, len(answers)), now], waits + last)
    except BaseException as e:
        raise AssertionError("\n".join([str(e), "The log of the server:", *server.log])) from e
    finally:
        signal.alarm(0)
        server.kill()

@pytest.fixture(scope="session", autouse=True)
def results(request):
    """Begins the rows, each in a process of its own."""
    rules = [item.callspec.params["rule"] for item in request.session.items if hasattr(item, "callspec")]
    with multiprocessing.Pool(16) as pool:
        yield {rule: [pool.apply_async(check, row) for row in RULES[rule]] for rule in rules}

def test_lists_more_than_1000_pages_also_in_a_loop_over_a_list(petstore):
    pages = [[200, {"Link": f'</{i}>; rel="next"'}, [i]] for i in range(1100)]
    assert list(Client(Script([*pages, [200, {}, [1100]]]).url).list("/")) == list(range(1101))
    server = petstore()
    client = Client(server.url)
    pairs = [(a["id"], b["id"]) for a in client.list("/pets?limit=2") for b in client.list("/categories?limit=3")]
    assert pairs == list(itertools.product(range(1, 6), range(1, 5)))
    assert len(server.requests()) == 3 + 5 * 2

def test_eight_callers_share_one_client_and_none_waits_for_another():
    server = Script([[200, {}, ["A" * 16], "trickle"], *7 * [[503, "1"]], *7 * [200]])
    client = Client(server.url, timeout=20)
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        slow = pool.submit(client.call, "GET", "/a")
        time.sleep(0.5)
        assert list(pool.map(lambda name: client.call("PUT", "/a", name), "BCDEFGH")) == list("BCDEFGH")
        assert not slow.done()
        assert slow.result() == ["A" * 16]

@pytest.mark.parametrize("rule", RULES)
def test_calls(rule, results):
    for result in results[rule]:
        result.get()
