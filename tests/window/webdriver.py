"""The W3C WebDriver protocol, as far as the window test needs it, spoken to WebKitGTK's own driver.

The driver starts the program and attaches to its web view; nothing else is installed for it. Driver, program and virtual
display live in process groups of their own, which are killed as a whole: a program that outlived its driver would go on
holding files and ports of the test.
"""
import atexit
import base64
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
# What the protocol calls keys that write no character.
KEYS = {
    "Escape": "\ue00c", "Enter": "\ue007", "Tab": "\ue004", "Delete": "\ue017", "Home": "\ue011", "End": "\ue010",
    "ArrowUp": "\ue013", "ArrowDown": "\ue015", "ArrowLeft": "\ue012", "ArrowRight": "\ue014",
    "Shift": "\ue008", "Control": "\ue009", "F10": "\ue03a",
}
SILENT = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "start_new_session": True}


class Refused(Exception):
    """The driver answered with an error; `args[0]` is its short name."""


def end(process):
    """Kills the whole group, once: a number that was waited for may belong to somebody else."""
    if process.returncode is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(10)


class Display:
    """A virtual display. Xvfb picks a free number itself and tells it."""

    def __enter__(self):
        reader, writer = os.pipe()
        command = ["Xvfb", "-displayfd", str(writer), "-screen", "0", "1440x900x24", "-nolisten", "tcp"]
        self.process = subprocess.Popen(command, pass_fds=[writer], **SILENT)
        atexit.register(end, self.process)
        os.close(writer)
        with os.fdopen(reader) as pipe:
            number = pipe.readline().strip()
        assert number, "Xvfb did not start"
        self.name = f":{number}"
        return self

    def __exit__(self, *_):
        end(self.process)


class Window:
    """The program's window, from its start to its end."""

    def __init__(self, display, binary, args):
        self.display, self.binary, self.args = display, binary, args

    def __enter__(self):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.url = f"http://127.0.0.1:{probe.getsockname()[1]}"
        self.home = tempfile.mkdtemp(prefix="onceover-window-")
        env = {
            **os.environ, "DISPLAY": self.display.name, "TAURI_WEBVIEW_AUTOMATION": "true", "WEBKIT_DISABLE_DMABUF_RENDERER": "1",
            "HOME": self.home, "XDG_DATA_HOME": self.home, "XDG_CONFIG_HOME": self.home, "XDG_CACHE_HOME": self.home, "XDG_RUNTIME_DIR": self.home,
        }
        self.driver = subprocess.Popen(["WebKitWebDriver", f"--port={self.url.rsplit(':', 1)[1]}"], env=env, **SILENT)
        atexit.register(end, self.driver)
        try:
            self._wait_for_driver()
            options = {"webkitgtk:browserOptions": {"binary": self.binary, "args": self.args}}
            answer = self._ask("POST", "/session", {"capabilities": {"alwaysMatch": options}}, timeout=60)
            self.session = "/session/" + answer["sessionId"]
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        if hasattr(self, "session"):
            try:
                self._ask("DELETE", self.session)
            except (OSError, Refused):
                pass
        end(self.driver)
        shutil.rmtree(self.home, ignore_errors=True)

    def _wait_for_driver(self):
        limit = time.monotonic() + 10
        while True:
            try:
                self._ask("GET", "/status")
                return
            except OSError:
                assert time.monotonic() < limit, "WebKitWebDriver did not start"
                time.sleep(0.05)

    def _ask(self, method, path, body=None, timeout=20):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, {"Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=timeout) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            value = json.load(error)["value"]
            raise Refused(value["error"], value["message"]) from error

    def run(self, script, *args):
        """Runs the body of a function in the page and returns its value."""
        return self._ask("POST", self.session + "/execute/sync", {"script": script, "args": list(args)})

    def find(self, selector, seconds=10):
        """The first element that matches and has been drawn."""
        limit = time.monotonic() + seconds
        while True:
            try:
                found = self._ask("POST", self.session + "/element", {"using": "css selector", "value": selector})[ELEMENT]
                if self._ask("GET", f"{self.session}/element/{found}/displayed"):
                    return found
            except Refused as error:
                if error.args[0] not in ("no such element", "stale element reference"):
                    raise
            assert time.monotonic() < limit, f"{selector} did not appear in {seconds} s; the page says: {self.says()}"
            time.sleep(0.02)

    def click(self, selector, seconds=10):
        """Clicks an element once it is there, stands still and nothing lies over it."""
        limit = time.monotonic() + seconds
        while True:
            try:
                self._ask("POST", f"{self.session}/element/{self.find(selector, seconds)}/click", {})
                return
            except Refused as error:
                if error.args[0] not in ("element click intercepted", "element not interactable", "stale element reference"):
                    raise
                assert time.monotonic() < limit, f"{selector} cannot be clicked: {error.args[1]}"
                time.sleep(0.05)

    def press(self, keys):
        """Presses one key, or several at once: `Escape`, `g`, `Shift+F10`."""
        keys = [KEYS.get(key, key) for key in (keys.split("+") if len(keys) > 1 else [keys])]
        actions = [{"type": "keyDown", "value": key} for key in keys] + [{"type": "keyUp", "value": key} for key in reversed(keys)]
        self._ask("POST", self.session + "/actions", {"actions": [{"type": "key", "id": "keyboard", "actions": actions}]})

    def text(self, selector, seconds=10):
        return self._ask("GET", f"{self.session}/element/{self.find(selector, seconds)}/text")

    def says(self):
        return self.run("return document.body.innerText.slice(0, 400)")

    def title(self):
        return self._ask("GET", self.session + "/title")

    def picture(self, path):
        # The driver waits for the next frame, which never comes while the page stands still; so let it draw some.
        self.run("""
            const end = performance.now() + 1500;
            const draw = (now) => {
                document.documentElement.style.opacity = now < end ? 0.999 + (now % 2) / 4000 : '';
                if (now < end) requestAnimationFrame(draw);
            };
            requestAnimationFrame(draw);
        """)
        time.sleep(0.2)
        with open(path, "wb") as file:
            file.write(base64.b64decode(self._ask("GET", self.session + "/screenshot")))
