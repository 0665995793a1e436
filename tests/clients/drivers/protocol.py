"""The lines protocol of the client drivers (see ../README.md), for the two Python clients.

Commands are read one at a time; answers and events may be written from any thread, each whole line under one lock."""
import base64
import json
import sys
import threading
import traceback

_lock = threading.Lock()


class ClientError(Exception):
    """A failure that the broker (or the client) named by one of Kafka's error codes."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


def write(line):
    text = json.dumps(line, separators=(",", ":"))
    with _lock:
        sys.stdout.write(text + "\n")
        sys.stdout.flush()


def event(kind, consumer, **fields):
    write({"event": kind, "consumer": consumer, **fields})


def encode(data):
    return None if data is None else base64.b64encode(data).decode()


def decode(text):
    return None if text is None else base64.b64decode(text)


def record_line(partition, offset, key, value, headers, timestamp):
    return {
        "partition": partition,
        "offset": offset,
        "key": encode(key),
        "value": encode(value),
        "headers": [[name, encode(data)] for name, data in headers or []],
        "timestamp": timestamp,
    }


def by_position(records):
    return sorted(records, key=lambda record: (record["partition"], record["offset"]))


def serve(operations):
    for line in sys.stdin:
        command = json.loads(line)
        try:
            answer = operations[command["op"]](command) or {}
        except ClientError as error:
            answer = {"error": {"code": error.code, "message": str(error)}}
        except Exception as error:  # a fault of the driver or of the client: the runner shows it
            traceback.print_exc()
            answer = {"error": {"code": -1, "message": f"{type(error).__name__}: {error}"}}
        write({"id": command["id"], **answer})
