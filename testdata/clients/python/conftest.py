"""Starts servers for tests: petstore("-fail", "1/2") is one, and its url says where."""
import itertools, os, pytest, re, signal, subprocess, threading, time, urllib.request

os.environ["no_proxy"] = os.environ["NO_PROXY"] = "127.0.0.1"

class Server:
    def __init__(self, *flags):
        command = ["petstore", "-addr", "127.0.0.1:0", "-data", "", "-v", *flags]
        self._process = subprocess.Popen(command, stderr=subprocess.PIPE, encoding="utf-8")
        self.log = [self._process.stderr.readline()]
        self.times = []  # at which the requests were logged
        self._requests, self._marks = [], itertools.count()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()
        self.url = self.log[0].removeprefix("Petstore API: ").strip()
        assert self.url.startswith("http"), self.log[0]

    def _read(self):
        for line in self._process.stderr:
            request = re.search(r' ([A-Z]+) "(.*)" (.*) \S+$', line)
            if request and request[1] != "OPTIONS" and not request[2].startswith("/healthz"):
                self.times.append(time.monotonic())
                self._requests.append(" ".join(request.groups()))
            self.log.append(line)

    def requests(self):
        """The requests that have had a response, such as "GET /pets 200", without preflights."""
        mark = f"/healthz?{next(self._marks)}"  # is logged after all that has had a response
        urllib.request.urlopen(self.url + mark).close()
        while not any(f'"{mark}"' in line for line in self.log):
            time.sleep(0.01)
        return list(self._requests)

    def stop(self):
        """Stops the server; returns all its requests, also those whose client has gone."""
        self._process.terminate()
        self._reader.join()
        return list(self._requests)

    def kill(self):
        self._process.kill()
        self._reader.join()
        print("The log of the server:\n", *self.log)

@pytest.fixture
def petstore():
    signal.signal(signal.SIGALRM, lambda *_: pytest.fail("took more than 30 seconds"))
    signal.alarm(30)  # on Windows, use the plugin pytest-timeout instead
    servers = []
    yield lambda *flags: servers.append(Server(*flags)) or servers[-1]
    signal.alarm(0)
    for server in servers:
        server.kill()
