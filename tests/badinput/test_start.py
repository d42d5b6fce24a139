#!/usr/bin/env python3
"""What a broker does when it cannot start, or is started wrongly: one clear text, the right exit code, no file touched."""
import glob
import hashlib
import os
import resource
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from kit.broker import NAMES, ROOT, Broker, free_port, program  # noqa: E402
from kit.checks import Checks, contains, same, until  # noqa: E402
from kit.wire import Gone  # noqa: E402

checks = Checks("start")
NOBODY = 65534


class Folder:
    """A data folder that is gone afterwards."""

    def __enter__(self):
        self.path = tempfile.mkdtemp(prefix="onceover-start-")
        return self.path

    def __exit__(self, *_):
        shutil.rmtree(self.path, ignore_errors=True)


def run(*args, env=None, before=()):
    """Starts the broker, waits for it to end by itself, and returns its exit code and all it printed."""
    clean = {key: value for key, value in os.environ.items() if key not in NAMES}
    try:
        done = subprocess.run(
            [*before, program(), *args], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=15, env={**clean, **(env or {})}
        )
    except subprocess.TimeoutExpired as error:
        raise AssertionError(f"started though it should not: {error.stdout}") from error
    return done.returncode, done.stdout + done.stderr


def refused(code, text, *parts):
    """A failure to start: exit code 1 or a documented one, cause named, nothing of the program's insides shown."""
    assert code not in (0, 2) and code > 0, f"exit code {code}: {text}"
    contains(text, *parts)
    assert "panicked" not in text and "RUST_BACKTRACE" not in text, text
    code_of_help, help_text = run("--help")
    same(code_of_help, 0)
    contains(help_text, str(code))


def prints(folder):
    """Fingerprints of all files, to see that none was touched."""
    return {path: hashlib.sha256(open(path, "rb").read()).hexdigest() for path in sorted(glob.glob(folder + "/**", recursive=True)) if os.path.isfile(path)}


def certificate(cert, key):
    """A certificate for localhost and 127.0.0.1 that vouches for itself, and its key."""
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", "/CN=localhost",
         "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", key, "-out", cert],
        check=True, stdin=subprocess.DEVNULL, capture_output=True,
    )


def data_file(folder):
    found = [path for path in glob.glob(folder + "/*") if path.endswith((".db", ".sqlite", ".sqlite3"))]
    same(len(found), 1)
    return found[0]


def used_folder(path):
    """A folder in which a broker has run, with one job."""
    with Broker(data=path) as broker:
        with broker.connect() as wire:
            assert wire.call("PUSH", queue="q", data={"n": 1}, uniqueKey="k")["ok"]
        same(broker.stop(), 0)
    return data_file(path)


@checks
def help_and_version():
    """--help names every flag, environment name and exit code; --version prints the version"""
    code, text = run("--help")
    same(code, 0)
    contains(text, "--host", "--port", "--ui-port", "--data", "--help", "TCP_PORT", "HTTP_PORT", "HOST", "BUNQUEUE_DATA_PATH", "AUTH_TOKENS", "exit code")
    code, text = run("--version")
    same((code, text.strip()), (0, "onceoverd 0.1.0"))


@checks
def wrong_flags():
    """wrong flags end with code 2 and say what is wrong"""
    for args, part in [
        (["--nonsense"], "--nonsense"), (["--port"], "--port"), (["--port", "abc"], "abc"), (["--port", "70000"], "70000"),
        (["--ui-port", "-1"], "-1"), (["surplus"], "surplus"), (["--host", "not a host"], "not a host"),
    ]:
        code, text = run(*args)
        same((args, code), (args, 2))
        contains(text, part, "--help")


@checks
def wrong_environment():
    """a wrong value in the environment ends with code 2 and names the variable"""
    code, text = run("--no-ui", env={"TCP_PORT": "many"})
    same(code, 2)
    contains(text, "TCP_PORT", "many")


@checks
def tls_files():
    """TLS files that cannot be used are named with their setting, before the data is touched"""
    with Folder() as folder:
        path = lambda name: os.path.join(folder, name)  # noqa: E731
        certificate(path("cert.pem"), path("key.pem"))
        certificate(path("other.pem"), path("other-key.pem"))
        with open(path("notes.txt"), "w", encoding="utf-8") as file:
            file.write("dear diary")
        code, text = run("--no-ui", "--tls-cert", path("cert.pem"))
        same(code, 2)
        contains(text, "--tls-cert", "--tls-key")
        code, text = run("--no-ui", env={"TLS_KEY_FILE": path("key.pem")})
        same(code, 2)
        contains(text, "TLS_KEY_FILE", "TLS_CERT_FILE")
        for cert, key, *parts in [
            ("gone.pem", "key.pem", "gone.pem", "TLS_CERT_FILE", "No such file"),
            ("cert.pem", "gone.pem", "gone.pem", "TLS_KEY_FILE", "No such file"),
            ("notes.txt", "key.pem", "notes.txt", "TLS_CERT_FILE", "BEGIN CERTIFICATE"),
            ("cert.pem", "notes.txt", "notes.txt", "TLS_KEY_FILE", "BEGIN PRIVATE KEY"),
            ("cert.pem", "other-key.pem", "cert.pem", "other-key.pem", "TLS_CERT_FILE", "TLS_KEY_FILE", "does not belong"),
        ]:
            env = {"TLS_CERT_FILE": path(cert), "TLS_KEY_FILE": path(key)}
            code, text = run("--port", str(free_port()), "--no-ui", "--data", path("data"), env=env)
            refused(code, text, *parts)
            assert not os.path.exists(path("data")), "the data folder was made"


@checks
def port_taken():
    """a taken port is named, with what to do; the one who has it goes on"""
    with Broker() as first, Folder() as folder:
        code, text = run("--port", str(first.port), "--no-ui", "--data", folder)
        refused(code, text, str(first.port), "in use", "--port")
        with first.connect() as wire:
            assert wire.call("Ping")["ok"]


@checks
def ui_port_taken():
    """a taken port of the window's door is named"""
    with Broker() as first, Folder() as folder:
        door = first.url.rsplit(":", 1)[1]
        code, text = run("--port", str(free_port()), "--ui-port", door, "--data", folder)
        refused(code, text, door, "in use", "--ui-port")


@checks
def folder_in_use():
    """a second broker on the same data folder is refused; the first goes on"""
    with Broker() as first:
        code, text = run("--port", str(free_port()), "--no-ui", "--data", first.data)
        refused(code, text, first.data, "in use")
        with first.connect() as wire:
            assert wire.call("PUSH", queue="q", data={})["ok"]
        first.kill()
        first.start()  # a killed broker leaves no lock behind
        with first.connect() as wire:
            same(wire.call("Count", queue="q")["count"], 1)


@checks
def another_programs_database():
    """a database of another program is refused and stays as it is"""
    with Folder() as folder:
        name = os.path.basename(used_folder(os.path.join(folder, "ours")))
        place = os.path.join(folder, "theirs")
        os.mkdir(place)
        with sqlite3.connect(os.path.join(place, name)) as theirs:
            theirs.execute("CREATE TABLE recipes (id INTEGER PRIMARY KEY, title TEXT)")
            theirs.execute("INSERT INTO recipes (title) VALUES ('soup')")
        theirs.close()
        before = prints(place)
        code, text = run("--port", str(free_port()), "--no-ui", "--data", place)
        refused(code, text, name, "not")
        same({path: print_ for path, print_ in prints(place).items() if path in before}, before)


@checks
def not_a_database():
    """a file that is no database is refused and stays as it is"""
    with Folder() as folder:
        for content in (b"dear diary\n" * 500, os.urandom(8192)):
            path = os.path.join(folder, "notes.db")
            with open(path, "wb") as file:
                file.write(content)
            code, text = run("--port", str(free_port()), "--no-ui", env={"BUNQUEUE_DATA_PATH": path})
            refused(code, text, "notes.db")
            with open(path, "rb") as file:
                same(file.read() == content, True)


@checks
def newer_schema():
    """a file of a newer version is refused, says so, and opens again with the version that wrote it"""
    with Folder() as folder:
        path = used_folder(folder)
        version = set_version(path, 9999)
        before = prints(folder)[path]
        code, text = run("--port", str(free_port()), "--no-ui", "--data", folder)
        refused(code, text, "newer")
        same(prints(folder)[path], before)
        set_version(path, version)
        with Broker(data=folder) as broker, broker.connect() as wire:
            same(wire.call("Count", queue="q")["count"], 1)


def set_version(path, version):
    with sqlite3.connect(path) as database:
        (old,) = database.execute("PRAGMA user_version").fetchone()
        assert old > 0, "the file has no schema version"
        database.execute(f"PRAGMA user_version = {version}")
    database.close()
    return old


@checks
def damaged_file():
    """a damaged file of ours is refused, not overwritten"""
    with Folder() as folder:
        path = used_folder(folder)
        size = os.path.getsize(path)
        with open(path, "r+b") as file:
            for page in range(1, size // 4096):
                file.seek(page * 4096)
                file.write(b"\xde\xad" * 2048)
        before = prints(folder)[path]
        code, text = run("--port", str(free_port()), "--no-ui", "--data", folder)
        refused(code, text, os.path.basename(path))
        same(prints(folder)[path], before)


@checks
def bunqueue_file():
    """a file that bunqueue wrote is recognised, refused by name, and stays as it is"""
    bun = os.path.join(ROOT, "tests", "sdk", "npm", "node_modules", ".bin")
    with Folder() as folder:
        path = os.path.join(folder, "bunqueue.db")
        env = {**os.environ, "PATH": bun + os.pathsep + os.environ["PATH"], "TCP_PORT": str(free_port()), "HTTP_PORT": str(free_port()),
               "HOST": "127.0.0.1", "DATA_PATH": path, "BUNQUEUE_DATA_PATH": path}
        server = subprocess.Popen([os.path.join(bun, "bunqueue"), "start"], env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL, start_new_session=True)
        try:
            until("bunqueue writes its file", lambda: os.path.exists(path) and os.path.getsize(path) > 0 and tables(path), 20)
        finally:
            os.killpg(server.pid, signal.SIGTERM)
            server.wait(20)
        before = prints(folder)
        code, text = run("--port", str(free_port()), "--no-ui", env={"BUNQUEUE_DATA_PATH": path})
        refused(code, text, "bunqueue", path)
        same(prints(folder)[path], before[path])


def tables(path):
    try:
        database = sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=1)
        try:
            return database.execute("SELECT count(*) FROM jobs").fetchone() is not None
        finally:
            database.close()
    except sqlite3.Error:
        return False


@checks
def read_only_folder():
    """a folder that cannot be written to is named"""
    with Folder() as folder:
        # Root may write anywhere, so the broker then runs as nobody, from a place where nobody may read it.
        os.chmod(folder, 0o755)
        binary, data = os.path.join(folder, "onceoverd"), os.path.join(folder, "data")
        shutil.copy(program(), binary)
        os.chmod(binary, 0o755)
        os.mkdir(data)
        os.chmod(data, 0o555)
        as_nobody = []
        if os.geteuid() == 0:
            as_nobody = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
        done = subprocess.run([*as_nobody, binary, "--port", str(free_port()), "--no-ui", "--data", data], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=15)
        refused(done.returncode, done.stdout + done.stderr, data, "writ")
        same(os.listdir(data), [])
        same(stat.S_IMODE(os.stat(data).st_mode), 0o555)


@checks
def read_only_file():
    """a data file that cannot be written to is named and stays as it is"""
    with Folder() as folder:
        os.chmod(folder, 0o755)
        binary, data = os.path.join(folder, "onceoverd"), os.path.join(folder, "data")
        shutil.copy(program(), binary)
        os.mkdir(data)
        path = used_folder(data)
        before = prints(data)[path]
        as_nobody = []
        if os.geteuid() == 0:
            os.chown(data, NOBODY, NOBODY)
            as_nobody = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
        os.chmod(path, 0o444)
        done = subprocess.run([*as_nobody, binary, "--port", str(free_port()), "--no-ui", "--data", data], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=15)
        refused(done.returncode, done.stdout + done.stderr, data, "writ")
        same(prints(data)[path], before)


@checks
def full_disk():
    """a disk that is full: adds are answered with an error, every acknowledged one is there afterwards"""

    def small_files():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (3_000_000, 3_000_000))

    with Folder() as folder:
        acknowledged, errors = [], []
        with Broker(data=folder, setup=small_files) as broker:
            for number in range(2000):
                try:
                    with broker.connect(timeout=5) as wire:
                        for _ in range(20):
                            answer = wire.call("PUSH", queue="full", data={"n": number, "pad": os.urandom(3000)})
                            acknowledged.append(answer["id"]) if answer["ok"] else errors.append(answer["error"])
                except (Gone, OSError) as error:
                    errors.append(f"connection: {error}")
                if len(errors) > 5:
                    break
            assert errors, "the disk never became full"
            assert any(not error.startswith("connection") for error in errors), f"no answer names the trouble: {errors}"
            assert broker.alive(), f"the broker ended: {broker.tail()}"
            broker.stop()
        assert acknowledged, "nothing was accepted before the disk was full"
        with Broker(data=folder) as broker, broker.connect() as wire:
            states = wire.many({"cmd": "GetState", "id": id_} for id_ in acknowledged)
            same(sum(state["state"] != "waiting" for state in states), 0)
            assert wire.call("PUSH", queue="full", data={})["ok"]


@checks
def open_to_the_network():
    """listening beyond loopback needs a token"""
    with Folder() as folder:
        code, text = run("--host", "0.0.0.0", "--port", str(free_port()), "--no-ui", "--data", folder)
        refused(code, text, "AUTH_TOKENS", "0.0.0.0")
        with Broker(data=folder, args=["--host", "0.0.0.0"], env={"AUTH_TOKENS": "one, two"}) as broker, broker.connect() as wire:
            same(wire.call("PUSH", queue="q", data={})["error"], "Not authenticated")
            same(wire.call("Auth", token="three"), {"ok": False, "error": "Invalid token", "reqId": "2"})
            same(wire.call("Auth", token="two")["ok"], True)
            same(wire.call("PUSH", queue="q", data={})["ok"], True)


@checks
def environment():
    """environment names work as bunqueue's do, and flags win over them"""
    with Folder() as folder:
        path = os.path.join(folder, "mine.db")
        port = free_port()
        env = {"TCP_PORT": "1", "BUNQUEUE_DATA_PATH": path, "HOST": "127.0.0.1"}
        clean = {key: value for key, value in os.environ.items() if key not in NAMES}
        process = subprocess.Popen([program(), "--port", str(port), "--no-ui"], env={**clean, **env}, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        try:
            same(process.stdout.readline().strip(), f"onceoverd listening on 127.0.0.1:{port}")
            assert os.path.exists(path), "the data file is not where the environment says"
        finally:
            process.terminate()
            same(process.wait(15), 0)


@checks
def page_link():
    """the page's link survives a restart, as long as nobody else could have read it; other data has another one"""
    with Broker() as broker:
        first = broker.token
        kept = data_file(broker.data) + ".page-token"
        same(stat.S_IMODE(os.stat(kept).st_mode), 0o600)
        for how in (broker.stop, broker.kill):
            how()
            same((broker.start().token, broker.rpc({"type": "overview"})["broker"]["state"]), (first, "listening"))
        broker.stop()
        os.chmod(kept, 0o644)
        assert broker.start().token != first, "a token that others could read is used"
    with Broker() as other:
        assert other.token != first


@checks
def too_many_connections():
    """one client too many is told so; the limit of open files bounds them, and is raised where it can be"""
    with Broker(args=["--max-connections", "3"]) as broker:
        wires = [broker.connect() for _ in range(3)]
        assert all(wire.call("Ping")["ok"] for wire in wires)
        with broker.connect() as fourth:
            same(fourth.message(), {"ok": False, "error": "Too many connections (max 3)"})

    def few_files():
        resource.setrlimit(resource.RLIMIT_NOFILE, (128, 192))

    with Broker(setup=few_files) as broker:
        wires = [broker.connect() for _ in range(150)]
        told = [wire.message().get("error") for wire in wires[128:132]]
        same(set(told), {"Too many connections (max 128)"})
        assert all(wire.call("Ping")["ok"] for wire in wires[:128])
        assert "only 128 connections are possible" in "".join(broker.output), broker.tail()
        [wire.close() for wire in wires]


@checks
def signals():
    """SIGTERM and SIGINT end it cleanly, also with clients, and what was accepted is kept"""
    for how in (signal.SIGTERM, signal.SIGINT):
        with Broker() as broker:
            wire = broker.connect()
            assert wire.call("PUSH", queue="q", data={})["ok"]
            wire.send({"cmd": "PULL", "queue": "empty", "timeout": 60_000})
            began = time.monotonic()
            same(broker.stop(how), 0)
            assert time.monotonic() - began < 5, "took too long"
            wire.close()
            broker.start()
            with broker.connect() as again:
                same(again.call("Count", queue="q")["count"], 1)


if __name__ == "__main__":
    sys.exit(checks.run())
