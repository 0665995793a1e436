"""The load of the kill rounds: an idempotent producer that lives through the node's crashes, also into a keyed table, and a group
consumer that commits.

Commands and answers are lines of JSON as in tests/clients/README.md. Invariant: what `flush` answers was acknowledged; nothing is
produced twice by this program, so a record that is in the log twice is the node's duplicate."""
import json
import threading
import time

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

from protocol import ClientError, serve

state = {}


class Load:
    def __init__(self, command):
        self.bootstrap = command["bootstrap"]
        self.partitions = {topic: count for topic, count in command["topics"]}
        self.producer = Producer({
            "bootstrap.servers": self.bootstrap, "enable.idempotence": True, "linger.ms": 5, "message.timeout.ms": 120_000,
            "reconnect.backoff.ms": 20, "reconnect.backoff.max.ms": 200, "retry.backoff.ms": 50, "log_level": 0,
            "compression.type": "lz4", "batch.num.messages": 200,
        })
        self.keyed = command["keyed"]
        self.keyed_acknowledged = {}
        self.group = command["group"]
        self.consumer = Consumer({
            "bootstrap.servers": self.bootstrap, "group.id": self.group, "auto.offset.reset": "earliest", "enable.auto.commit": False,
            "session.timeout.ms": 6000, "heartbeat.interval.ms": 500, "reconnect.backoff.ms": 20, "reconnect.backoff.max.ms": 200,
            "fetch.wait.max.ms": 50, "log_level": 0,
        })
        self.consumer.subscribe(list(self.partitions))
        self.next_id = 0
        self.acknowledged = []
        self.failed = []
        self.round = None
        self.lock = threading.Lock()
        self.positions = {}
        self.gaps = []
        threading.Thread(target=self.produce, daemon=True).start()
        threading.Thread(target=self.consume, daemon=True).start()

    def delivered(self, number):
        def report(error, message):
            if error is not None:
                self.failed.append([number, error.name()])
            else:
                self.acknowledged.append([message.topic(), message.partition(), message.offset(), number])
        return report

    def produce_keyed(self):
        """Rows of 40 keys, each with a number that only grows, and now and then the deletion of one."""
        for _ in range(20):
            number = self.next_id
            self.next_id += 1
            key = json.dumps({"id": number % 40}, separators=(",", ":"))
            value = None if number % 11 == 0 else json.dumps({"id": number % 40, "n": number}, separators=(",", ":"))
            self.producer.produce(self.keyed, value=value, key=key, partition=0, on_delivery=self.delivered_keyed(key, value))

    def delivered_keyed(self, key, value):
        def report(error, message):
            if error is not None:
                self.failed.append([key, error.name()])
            else:
                self.keyed_acknowledged[key] = max(self.keyed_acknowledged.get(key, (-1, None)), (message.offset(), value),
                                                   key=lambda place: place[0])
        return report

    def produce(self):
        while True:
            with self.lock:
                if self.round is not None:
                    for topic, count in self.partitions.items():
                        for _ in range(20):
                            number = self.next_id
                            self.next_id += 1
                            value = json.dumps({"id": number, "round": self.round, "text": "x" * (number % 300)})
                            self.producer.produce(topic, value=value, key=str(number), partition=number % count,
                                                  on_delivery=self.delivered(number))
                    self.produce_keyed()
                    self.producer.poll(0)
            time.sleep(0.03)

    def consume(self):
        """Notes how far every partition was read without a gap, and commits about every tenth poll."""
        polls = 0
        while True:
            messages = self.consumer.consume(500, 0.1)
            for message in messages:
                if message.error():
                    continue
                place = (message.topic(), message.partition())
                expected = self.positions.get(place, 0)
                # After a crash it may go back to what was committed; it must not jump forward.
                if message.offset() > expected:
                    self.gaps.append([*place, expected, message.offset()])
                self.positions[place] = max(expected, message.offset() + 1)
            polls += 1
            if polls % 10 == 0 and messages:
                try:
                    self.consumer.commit(asynchronous=False)
                except KafkaException:
                    pass  # the node is down: the next one counts

    def flush(self):
        with self.lock:
            self.round = None
        left = self.producer.flush(120)
        if left:
            raise ClientError(-1, f"{left} records were not answered within 120 s")
        answer = {"acknowledged": self.acknowledged, "failed": self.failed}
        self.acknowledged, self.failed = [], []
        return answer


def begin(command):
    state["load"] = Load(command)


def run(command):
    state["load"].round = command["round"]


def flush(_):
    return state["load"].flush()


def read(command):
    """All records of the given partitions from the given offsets to the ends that the node has now: [topic, partition, offset, id]."""
    return {"read": [[message.topic(), message.partition(), message.offset(), json.loads(message.value())["id"]]
                     for message in read_all(command["bootstrap"], command["from"])]}


def read_all(bootstrap, places):
    """The messages of partitions from offsets (None: from the start) to the ends that the node has now."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "no-group", "enable.auto.commit": False,
                         "fetch.wait.max.ms": 50, "log_level": 0, "enable.partition.eof": True})
    messages, left, wanted = [], set(), []
    try:
        for topic, partition, offset in places:
            start, end = consumer.get_watermark_offsets(TopicPartition(topic, partition), timeout=30)
            offset = start if offset is None else offset
            if end > offset:
                left.add((topic, partition))
                wanted.append(TopicPartition(topic, partition, offset))
        consumer.assign(wanted)
        deadline = time.monotonic() + 60
        while left:
            if time.monotonic() > deadline:
                raise ClientError(-1, f"still to come after 60 s: {left}")
            for message in consumer.consume(1000, 0.2):
                # Nobody produces meanwhile, so the end of a partition is its end. Compaction may have taken the last offsets.
                if message.error() and message.error().code() == KafkaError._PARTITION_EOF:
                    left.discard((message.topic(), message.partition()))
                elif message.error():
                    raise ClientError(message.error().code(), message.error().str())
                else:
                    messages.append(message)
    finally:
        consumer.close()
    return messages


def fold(command):
    """The keyed topic read from its start, folded: the rows, and what differs from what was acknowledged."""
    rows, places = {}, {}
    for message in read_all(command["bootstrap"], [(command["topic"], 0, None)]):
        key = message.key().decode()
        value = message.value() and message.value().decode()
        places[key] = (message.offset(), value)
        if value is None:
            rows.pop(key, None)
        else:
            rows[key] = json.loads(value)
    wrong = []
    for key, (offset, value) in state["load"].keyed_acknowledged.items():
        found = places.get(key, (-1, None))
        # A deletion may have been compacted away together with its key.
        if found[0] < offset and not (value is None and key not in places):
            wrong.append([key, offset, value, found])
        if found[0] == offset and (found[1] and json.loads(found[1])) != (value and json.loads(value)):
            wrong.append([key, offset, value, found])
    return {"rows": sorted([row["id"], row["n"]] for row in rows.values()), "wrong": wrong}


def consumed(command):
    """Waits until the group member has read up to the given ends: what it skipped, which should be nothing."""
    load = state["load"]
    deadline = time.monotonic() + 60
    while any(load.positions.get((topic, partition), 0) < end for topic, partition, end in command["ends"]):
        if time.monotonic() > deadline:
            raise ClientError(-1, f"the group member is at {load.positions}, not at {command['ends']}, after 60 s")
        time.sleep(0.02)
    return {"gaps": load.gaps}


serve({"fold": fold, "begin": begin, "run": run, "flush": flush, "read": read, "consumed": consumed})
