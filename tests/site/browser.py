# SPDX-License-Identifier: BSD-3-Clause
"""A headless Chromium, driven over pipes, which sees a folder as a web site and no other host."""
import contextlib
import functools
import http.server
import json
import os
import shutil
import subprocess
import tempfile
import threading

NAMES = ("chromium", "chromium-headless-shell", "chromium-browser", "google-chrome")


def program():
    """The path of a browser, or None."""
    return next(filter(None, map(shutil.which, NAMES)), None)


@contextlib.contextmanager
def served(folder):
    """The address at which a web server of this process shows the folder."""
    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    class Server(http.server.ThreadingHTTPServer):
        def handle_error(self, *_):  # the browser may go on before it has read all
            pass

    with Server(("127.0.0.1", 0), functools.partial(Quiet, directory=folder)) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


class Browser:
    """One page.  Ends with the process that made it, whose end of the pipe it reads."""

    def __init__(self, width, height):
        self.requests = []  # addresses that pages have asked for
        self._folder = tempfile.TemporaryDirectory(prefix="atoll-browser.", ignore_cleanup_errors=True)
        commands, self._to = os.pipe()
        self._from, answers = os.pipe()

        def as_descriptors():  # 3 and 4 are what --remote-debugging-pipe means
            kept = [os.dup2(os.dup(commands), 30), os.dup2(os.dup(answers), 31)]
            os.dup2(kept[0], 3)
            os.dup2(kept[1], 4)

        self._process = subprocess.Popen(
            [program(), "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
             "--disable-background-networking", "--disable-component-update", "--remote-debugging-pipe",
             f"--user-data-dir={self._folder.name}", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"],
            preexec_fn=as_descriptors, pass_fds=(3, 4), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env=dict(os.environ, HOME=self._folder.name))
        os.close(commands)
        os.close(answers)
        self._input, self._number, self._session, self._events = b"", 0, None, []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.call("Page.enable")
        self.call("Network.enable")
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=2, mobile=True)

    def close(self):
        os.close(self._to)
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._from)
        self._folder.cleanup()

    def _message(self):
        while b"\0" not in self._input:
            more = os.read(self._from, 1 << 16)
            if not more:
                raise RuntimeError("the browser has ended")
            self._input += more
        text, _, self._input = self._input.partition(b"\0")
        return json.loads(text)

    def _event(self, message):
        if message.get("method") == "Network.requestWillBeSent":
            self.requests.append(message["params"]["request"]["url"])
        elif message.get("method") == "Page.loadEventFired":
            self._events.append(message["method"])

    def call(self, method, **parameters):
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._message()
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            self._event(answer)

    def go(self, address):
        """Returns when the page is loaded, with all that it asks for."""
        self._events.clear()
        self.call("Page.navigate", url=address)
        while not self._events:
            self._event(self._message())

    def evaluate(self, script):
        """The value of an expression, or of the promise that it is."""
        result = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in result:
            raise RuntimeError(result["exceptionDetails"].get("exception", {}).get("description", "the script failed"))
        return result["result"].get("value")
