"""Starts servers for tests: petstore("-fail", "1/2") is one, and its url says where."""
import gzip, http.server, itertools, json, os, pytest, re, signal, socket, struct, subprocess
import threading, time, urllib.request

os.environ["no_proxy"] = os.environ["NO_PROXY"] = "127.0.0.1"

class Server:
    def __init__(self, *flags):
        command = ["petstore", "-addr", "127.0.0.1:0", "-data", "", "-v", *flags]
        self._process = subprocess.Popen(command, stderr=subprocess.PIPE, encoding="utf-8")
        self.log = [self._process.stderr.readline()]
        self._requests, self._marks = [], itertools.count()
        self.times = []  # at which the requests were logged
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
        return self._requests

    def kill(self):
        self._process.kill()
        self._reader.join()

class Script(http.server.ThreadingHTTPServer):
    """A server that gives the answers of a row in rows.json, in order."""
    shutdown_request = http.server.HTTPServer.close_request  # so that "reset" can reset it
    handle_error = print  # the client has gone
    stop = kill = lambda self: self.log

    def __init__(self, answers):
        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.answers, self.log, self.bodies, self.times = iter(answers), [], [], []
        threading.Thread(target=self.serve_forever, daemon=True).start()

class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # which would delay each body on a connection that is used again

    def answer(self):
        content = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        fault = answer = next(self.server.answers, "lost")
        self.server.times.append(time.monotonic())
        self.server.log.append(f"{self.command} {self.path} {answer}")
        self.server.bodies.append(json.loads(content or "null"))
        if not isinstance(answer, str):
            answer = answer if isinstance(answer, list) else [answer]
            status, headers, body, fault = answer + [0, {}, None if content else {}, ""][len(answer):]
            headers = headers if isinstance(headers, dict) else {"Retry-After": headers}
            if isinstance(body, str):
                content = body.encode("latin-1")
            elif body is not None:
                content = json.dumps(body, ensure_ascii=False).encode()
            if "Content-Encoding" in headers:
                zips = "gzip" in self.headers.get("Accept-Encoding", "")
                headers, content = (headers, gzip.compress(content)) if zips else ({}, content)
            self.send_response_only(status)
            for header in {"Content-Length": len(content), **headers}.items():
                self.send_header(*header)
            self.end_headers()
            self.wfile.write(content[:4] if fault else content)
            for byte in content[4:] if fault == "trickle" else b"":
                time.sleep(0.3)
                self.wfile.write(bytes([byte]))
        time.sleep(60 if fault in ("late", "stall") else 0)
        if fault == "reset":
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = bool(fault)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = answer

# On Windows, use the plugin pytest-timeout instead.
signal.signal(signal.SIGALRM, lambda *_: pytest.fail("took more than 30 seconds"))

@pytest.fixture
def petstore():
    servers = []
    signal.alarm(30)
    yield lambda *flags: servers.append(Server(*flags)) or servers[-1]
    signal.alarm(0)
    for server in servers:
        server.kill()
        print("The log of the server:\n", *server.log)
