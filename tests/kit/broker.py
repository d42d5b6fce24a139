"""A broker process of its own for one test: started, stopped or killed, started again on the same data.

The program is `$ONCEOVERD`, or `onceoverd` in the debug folder of the target directory. Ports are free ones, the data
folder is temporary unless given, and nothing of it outlives the test.
"""
import atexit
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
import urllib.error
import urllib.request

from .wire import Wire

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# Where cargo builds, and where tests leave pictures.
TARGET = os.path.abspath(os.environ.get("CARGO_TARGET_DIR", os.path.join(ROOT, "target")))
# Names the broker reads from the environment; a test sets them itself or not at all.
NAMES = ["TCP_PORT", "HTTP_PORT", "HOST", "BUNQUEUE_DATA_PATH", "DATA_PATH", "AUTH_TOKENS", "TLS_CERT_FILE", "TLS_KEY_FILE", "MAX_CONNECTIONS", "MAX_COMPLETED_JOBS",
         "TCP_IDLE_TIMEOUT_MS", "RATE_LIMIT_MAX_REQUESTS", "RATE_LIMIT_WINDOW_MS", "CORS_ALLOW_ORIGIN", "WEBHOOK_STRICT",
         "WEBHOOK_MAX_RETRIES", "WEBHOOK_RETRY_DELAY_MS"]


def program(name="onceoverd"):
    return os.environ.get(name.upper(), os.path.join(TARGET, "debug", name))


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Broker:
    """`start` returns when the broker listens, or raises with what it printed."""

    def __init__(self, data=None, port=None, ui_port=0, args=(), env=None, setup=None):
        self.own_data = data is None
        self.data = data or tempfile.mkdtemp(prefix="onceover-test-")
        self.port, self.ui_port = port or free_port(), ui_port
        self.args, self.env, self.setup = list(args), dict(env or {}), setup
        self.process, self.url, self.token, self.output = None, None, None, []

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.remove()

    def start(self, timeout=30.0):
        self.spawn()
        end = time.monotonic() + timeout
        while not self._listening():
            assert self.process.poll() is None, f"ended with {self.process.returncode}: {self.tail()}"
            assert time.monotonic() < end, f"not listening in time: {self.tail()}"
            time.sleep(0.005)
        return self

    def spawn(self):
        """Starts the process and returns at once."""
        env = {key: value for key, value in os.environ.items() if key not in NAMES}
        command = [program(), "--port", str(self.port), "--ui-port", str(self.ui_port), "--data", self.data, *self.args]
        self.output = []
        self.process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env={**env, **self.env}, start_new_session=True, preexec_fn=self.setup,
        )
        atexit.register(self._kill, self.process)
        for stream in (self.process.stdout, self.process.stderr):
            threading.Thread(target=self._collect, args=(stream, self.output), daemon=True).start()

    def stop(self, how=signal.SIGTERM, timeout=30.0):
        """Ends the process and returns its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(how)
        return self.process.wait(timeout)

    def kill(self):
        return self.stop(signal.SIGKILL)

    def remove(self):
        if self.process is not None:
            self._kill(self.process)
        if self.own_data:
            shutil.rmtree(self.data, ignore_errors=True)

    def alive(self):
        return self.process is not None and self.process.poll() is None

    def memory_mib(self, peak=False):
        """What the process holds of the machine's memory now, or held at most, in MiB."""
        name = "VmHWM:" if peak else "VmRSS:"
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as file:
            return next(int(line.split()[1]) for line in file if line.startswith(name)) / 1024

    def connect(self, **options):
        return Wire(self.port, **options)

    def rpc(self, request):
        """Asks through the door of the window and returns the view."""
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {self.token}"}
        body = json.dumps(request).encode()
        with urllib.request.urlopen(urllib.request.Request(self.url + "/rpc", body, headers), timeout=10) as answer:
            return json.load(answer)

    def judge(self, code):
        """The exit code of a test: `code`, or 1 with what the broker printed when it has ended by itself."""
        if self.alive():
            return code
        print(f"the broker ended with {self.process.returncode}: {self.tail()}")
        return 1

    def tail(self):
        return " | ".join(line.strip() for line in self.output[-12:])

    def _listening(self):
        text = "".join(self.output)
        door = re.search(r"window at (http://[^/\s]+)/#token=(\S+)", text)
        if door:
            self.url, self.token = door[1], door[2]
        no_door = "--no-ui" in self.args
        return "listening on" in text and (door is not None or no_door)

    @staticmethod
    def _collect(stream, lines):
        for line in stream:
            lines.append(line)

    @staticmethod
    def _kill(process):
        if process.poll() is None:
            process.kill()
            process.wait(10)
