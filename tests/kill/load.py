"""The load of the kill rounds: an idempotent producer that lives through the node's crashes, and a group consumer that commits.

Commands and answers are lines of JSON as in tests/clients/README.md. Invariant: what `flush` answers was acknowledged; nothing is
produced twice by this program, so a record that is in the log twice is the node's duplicate."""
import json
import threading
import time

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

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
    consumer = Consumer({"bootstrap.servers": command["bootstrap"], "group.id": "no-group", "enable.auto.commit": False,
                         "fetch.wait.max.ms": 50, "log_level": 0})
    records, left = [], {}
    try:
        for topic, partition, offset in command["from"]:
            _, end = consumer.get_watermark_offsets(TopicPartition(topic, partition), timeout=30)
            if end > offset:
                left[(topic, partition)] = end
        consumer.assign([TopicPartition(topic, partition, offset) for topic, partition, offset in command["from"]
                         if (topic, partition) in left])
        deadline = time.monotonic() + 60
        while left:
            if time.monotonic() > deadline:
                raise ClientError(-1, f"still to come after 60 s: {left}")
            for message in consumer.consume(1000, 0.2):
                if message.error():
                    raise ClientError(message.error().code(), message.error().str())
                records.append([message.topic(), message.partition(), message.offset(), json.loads(message.value())["id"]])
                place = (message.topic(), message.partition())
                if message.offset() + 1 >= left.get(place, 1 << 62):
                    del left[place]
    finally:
        consumer.close()
    return {"read": records}


def consumed(command):
    """Waits until the group member has read up to the given ends: what it skipped, which should be nothing."""
    load = state["load"]
    deadline = time.monotonic() + 60
    while any(load.positions.get((topic, partition), 0) < end for topic, partition, end in command["ends"]):
        if time.monotonic() > deadline:
            raise ClientError(-1, f"the group member is at {load.positions}, not at {command['ends']}, after 60 s")
        time.sleep(0.02)
    return {"gaps": load.gaps}


serve({"begin": begin, "run": run, "flush": flush, "read": read, "consumed": consumed})
