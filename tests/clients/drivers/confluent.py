"""Drives confluent-kafka, the Python face of librdkafka."""
import threading
import time

import confluent_kafka
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from protocol import ClientError, by_position, decode, event, record_line, serve

consumers = {}


def hello(_):
    return {"client": "confluent-kafka", "version": f"{confluent_kafka.__version__}, librdkafka {confluent_kafka.libversion()[0]}"}


def produce(command):
    settings = {
        "bootstrap.servers": command["bootstrap"],
        "client.id": command.get("clientId", "rowlog-tests"),
        "acks": command["acks"],
        "compression.type": command["codec"],
        "enable.idempotence": command["idempotent"],
        "linger.ms": 50,
        "message.max.bytes": 20_000_000,
        "message.timeout.ms": 30_000,
        "retry.backoff.ms": 50,
        "log_level": 0,
    }
    producer = Producer(settings)
    offsets = [None] * len(command["records"])
    errors = []

    def delivered(index):
        def report(error, message):
            if error is not None:
                errors.append(error)
            elif message.offset() is not None and message.offset() >= 0:
                offsets[index] = message.offset()
        return report

    for index, record in enumerate(command["records"]):
        place = {}
        if record.get("partition") is not None:
            place["partition"] = record["partition"]
        if record.get("timestamp") is not None:
            place["timestamp"] = record["timestamp"]
        headers = [(name, decode(data)) for name, data in record.get("headers", [])]
        producer.produce(command["topic"], key=decode(record["key"]), value=decode(record["value"]), headers=headers,
                         on_delivery=delivered(index), **place)
    if producer.flush(40) > 0:
        raise ClientError(-1, "records were not answered within 40 s")
    if errors:
        raise ClientError(errors[0].code(), errors[0].str())
    return {"offsets": offsets}


def consumer_settings(command):
    return {
        "bootstrap.servers": command["bootstrap"],
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
        "fetch.wait.max.ms": 100,
        "log_level": 0,
    }


def line_of(message):
    return record_line(message.partition(), message.offset(), message.key(), message.value(), message.headers(), message.timestamp()[1])


def consume(command):
    consumer = Consumer({**consumer_settings(command), "group.id": "rowlog-tests-no-group"})
    left = {int(partition): count for partition, count in command["counts"].items()}
    consumer.assign([TopicPartition(command["topic"], partition, 0) for partition in left])
    records = []
    deadline = time.monotonic() + 30
    try:
        while any(count > 0 for count in left.values()):
            if time.monotonic() > deadline:
                raise ClientError(-1, f"still to come after 30 s: {left}")
            message = consumer.poll(0.2)
            if message is None:
                continue
            if message.error():
                raise ClientError(message.error().code(), message.error().str())
            left[message.partition()] -= 1
            records.append(line_of(message))
    finally:
        consumer.close()
    return {"records": by_position(records)}


class Member:
    """One group member, polled by its own thread until it leaves."""

    def __init__(self, command):
        self.name = command["consumer"]
        settings = consumer_settings(command)
        settings.update({
            "group.id": command["group"],
            "partition.assignment.strategy": "cooperative-sticky" if command["assignor"] == "cooperative" else "range",
            "session.timeout.ms": command.get("sessionMs", 6000),
            "heartbeat.interval.ms": 300,
        })
        if command.get("instanceId"):
            settings["group.instance.id"] = command["instanceId"]
        self.topic = command["topic"]
        self.consumer = Consumer(settings)
        self.consumer.subscribe([self.topic])
        self.leaving = threading.Event()
        self.tasks = []
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        before = None
        while not self.leaving.is_set():
            message = self.consumer.poll(0.05)
            now = sorted(place.partition for place in self.consumer.assignment())
            if now != before and (now or before):
                event("assignment", self.name, partitions=now)
                before = now
            while self.tasks:
                self.tasks.pop(0)()
            if message is None:
                continue
            if message.error():
                event("error", self.name, code=message.error().code(), message=message.error().str())
            else:
                event("record", self.name, record=line_of(message))
        self.consumer.close()

    def commit(self, places):
        """By the polling thread: another thread's call starves behind the polls."""
        done = threading.Event()
        failure = []

        def task():
            try:
                self.consumer.commit(offsets=places, asynchronous=False)
            except KafkaException as error:
                failure.append(ClientError(error.args[0].code(), error.args[0].str()))
            done.set()

        self.tasks.append(task)
        if not done.wait(20):
            raise ClientError(-1, "commit was not answered within 20 s")
        if failure:
            raise failure[0]


def join(command):
    consumers[command["consumer"]] = Member(command)


def commit(command):
    member = consumers[command["consumer"]]
    member.commit([TopicPartition(member.topic, int(partition), offset) for partition, offset in command["offsets"].items()])


def leave(command):
    member = consumers.pop(command["consumer"])
    member.leaving.set()
    member.thread.join(20)


serve({"hello": hello, "produce": produce, "consume": consume, "join": join, "commit": commit, "leave": leave})
