import pytest, signal, subprocess, tempfile, time

class Server(subprocess.Popen):
    def __init__(self, *flags):
        self.log = tempfile.TemporaryFile("a+")  # not a pipe: a full one would block the server
        command = ["petstore", "-addr", "127.0.0.1:0", "-data", "", "-v", *flags]
        super().__init__(command, stderr=self.log)
        while not self.lines():
            time.sleep(0.01)
        self.url = self.lines()[0].removeprefix("Petstore API: ")
        assert self.url.startswith("http"), self.url  # or why it did not start

    def lines(self):
        self.log.seek(0)
        return self.log.read().splitlines()

    def requests(self):
        self.terminate()
        self.wait()
        return sum(' "/' in line for line in self.lines())

@pytest.fixture
def petstore():
    signal.signal(signal.SIGALRM, lambda *_: pytest.fail("took more than 20 seconds"))
    signal.alarm(20)  # on Windows, use the plugin pytest-timeout instead
    servers = []
    yield lambda *flags: servers.append(Server(*flags)) or servers[-1]
    signal.alarm(0)
    for server in servers:
        server.kill()
        server.wait()
