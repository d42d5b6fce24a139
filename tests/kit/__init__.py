"""What the black-box tests share: frames on the wire, a broker process, a list of named checks."""
import signal
import sys

# A test that is told to end still ends what it has started; by default Python would just stop.
signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
