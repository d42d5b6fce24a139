"""Named checks: each is a function whose doc string says what holds. A failed one does not stop the others."""
import sys
import time
import traceback


class Checks:
    """Collects checks with `@checks` and runs them with `run`."""

    def __init__(self, area):
        self.area, self.list = area, []

    def __call__(self, function):
        self.list.append(function)
        return function

    def run(self, *args):
        """Runs those whose name contains the first argument of the command line, or all. Returns the exit code."""
        wanted = sys.argv[1] if len(sys.argv) > 1 else ""
        failed = count = 0
        for function in self.list:
            if wanted not in function.__name__:
                continue
            count += 1
            began = time.monotonic()
            try:
                function(*args)
                print(f"ok   {self.area}: {function.__doc__} ({(time.monotonic() - began) * 1000:.0f} ms)", flush=True)
            except Exception as error:
                failed += 1
                frames = traceback.extract_tb(error.__traceback__)
                lines = ", ".join(f"{frame.name}:{frame.lineno}" for frame in frames[1:])
                print(f"FAIL {self.area}: {function.__doc__}: {type(error).__name__}: {error} ({lines})", flush=True)
        print(f"{count - failed} passed, {failed} failed", flush=True)
        return 1 if failed or not count else 0


def same(got, wanted):
    assert got == wanted, f"got {got!r}, wanted {wanted!r}"


def contains(text, *parts):
    for part in parts:
        assert part.lower() in text.lower(), f"{part!r} is not in {text!r}"


def until(what, condition, seconds=10.0):
    """Waits for a condition to hold and returns its value."""
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < end, f"{what}: did not happen in {seconds} s"
        time.sleep(0.005)
