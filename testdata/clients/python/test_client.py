import client, contextlib, pytest, time

CALLS = {  # flags, method, path, error, number of requests, seconds that it takes at least
    "waits_after_two_503s": ("-fail 2/3", "POST", "/categories", None, 3, 2),
    "gives_up_in_the_end": ("-fail 1/1", "GET", "/pets", client.APIError, 5, 4),
    "retries_a_lost_GET": ("-drop 1/2", "GET", "/pets", None, 2, 0),
    "does_not_retry_a_lost_POST": ("-drop 1/2", "POST", "/categories", OSError, 1, 0),
    "retries_a_timed-out_GET": ("-delay 2s -slow 1/2", "GET", "/pets", None, 2, 1),
    "does_not_retry_a_timed-out_POST": ("-delay 2s", "POST", "/categories", OSError, 1, 1),
    "does_not_retry_a_404": ("", "GET", "/pets/99", client.APIError, 1, 0),
    "does_not_retry_a_409": ("", "DELETE", "/categories/1", client.APIError, 1, 0),
}

@pytest.mark.parametrize("rule", CALLS)
def test_call(petstore, rule):
    flags, method, path, error, requests, seconds = CALLS[rule]
    server, begin = petstore(*flags.split()), time.monotonic()
    with pytest.raises(error) if error else contextlib.nullcontext():
        client.call(server.url + path, method, {"name": "Birds"} if method == "POST" else None)
    assert time.monotonic() - begin > seconds
    assert server.requests() == requests

def test_429(petstore):  # one request is refused; a client that does not wait sends more
    server = petstore("-minute", "2s")
    for _ in range(100):
        client.call(server.url + "/pets")
    assert server.requests() == 101

def test_ban(petstore):  # the client waits for the end of a ban
    url = petstore("-minute", "1s", "-keys", "keys.json").url + "/pets"
    for _ in range(50):
        with contextlib.suppress(client.APIError):
            client.send(url, key="minute")
        time.sleep(0.02)
    with pytest.raises(client.APIError, match="key_banned"):
        client.send(url, key="minute")
    client.call(url, key="minute")

def test_day(petstore):  # the client does not wait for the next day
    url = petstore("-keys", "keys.json").url + "/pets"
    for _ in range(3):
        client.call(url, key="day")
    with pytest.raises(client.APIError):
        client.call(url, key="day")

def test_own_records(petstore):  # on nine pages
    pets = list(client.pages(petstore("-sample", "zoo.json").url + "/pets?limit=1"))
    assert len(pets) == 9 and pets[1]["name"] == "Dvořák"
