"""Drives kafka-python, a pure Python client."""
import threading
import time

import kafka
from kafka import ConsumerRebalanceListener, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.errors import BrokerResponseError
from kafka.structs import OffsetAndMetadata

from protocol import ClientError, by_position, decode, event, record_line, serve

# A poll that ends while a join is under way can hang the member for ever (kafka-python 3.0.12, coordinator/base.py): the join began because the
# metadata differed from that of the last assignment; once newer metadata is equal to it again, need_rejoin() is False, nobody takes the answer of the join,
# and the partitions stay marked as being revoked. With 50 ms and a busy machine it hung 21 of 500 members on Apache Kafka and 15 of 960 here, so a poll may last.
POLL_MS = 2000

members = {}


def hello(_):
    return {"client": "kafka-python", "version": kafka.__version__}


def client_error(error):
    return ClientError(getattr(error, "errno", None) or -1, f"{type(error).__name__}: {error}")


def produce(command):
    producer = KafkaProducer(
        bootstrap_servers=command["bootstrap"],
        client_id=command.get("clientId", "rowlog-tests"),
        acks={"0": 0, "1": 1, "all": "all"}[command["acks"]],
        compression_type=None if command["codec"] == "none" else command["codec"],
        enable_idempotence=command["idempotent"],
        linger_ms=50,
        max_request_size=20_000_000,
        batch_size=2_000_000,
        retry_backoff_ms=50,
        delivery_timeout_ms=40_000,
    )
    try:
        futures = []
        for record in command["records"]:
            headers = [(name, decode(data or "")) for name, data in record.get("headers", [])]  # it has no null header values
            futures.append(producer.send(command["topic"], key=decode(record["key"]), value=decode(record["value"]), headers=headers,
                                         partition=record.get("partition"), timestamp_ms=record.get("timestamp")))
        producer.flush(40)
        try:
            metas = [future.get(10) for future in futures]
        except BrokerResponseError as error:
            raise client_error(error) from error
        return {"offsets": [meta.offset if meta.offset >= 0 else None for meta in metas]}
    finally:
        producer.close()


def line_of(message):
    return record_line(message.partition, message.offset, message.key, message.value, message.headers, message.timestamp)


def settled(consumer):
    """The consumer, once it has no metadata request on its way. A consumer asks for metadata when it is made, and its set_topics forgets
    topics that are named before that answer is there: it then sees no partition for metadata_max_age_ms, five minutes (kafka-python 3.0.12,
    cluster.py, "TODO: handle future when old metadata request is currently in-flight")."""
    consumer.topics()
    return consumer


def consume(command):
    consumer = settled(KafkaConsumer(bootstrap_servers=command["bootstrap"], enable_auto_commit=False, auto_offset_reset="earliest",
                                     fetch_max_wait_ms=100, max_partition_fetch_bytes=20_000_000))
    left = {int(partition): count for partition, count in command["counts"].items()}
    consumer.assign([TopicPartition(command["topic"], partition) for partition in left])
    consumer.seek_to_beginning()
    records = []
    deadline = time.monotonic() + 30
    try:
        while any(count > 0 for count in left.values()):
            if time.monotonic() > deadline:
                raise ClientError(-1, f"still to come after 30 s: {left}")
            for messages in consumer.poll(timeout_ms=200).values():
                for message in messages:
                    left[message.partition] -= 1
                    records.append(line_of(message))
    finally:
        consumer.close()
    return {"records": by_position(records)}


class Member(ConsumerRebalanceListener):
    """One group member. This client is not safe for several threads, so commits are handed to the polling thread."""

    def __init__(self, command):
        self.name = command["consumer"]
        assignor = CooperativeStickyAssignor if command["assignor"] == "cooperative" else RangePartitionAssignor
        self.topic = command["topic"]
        self.consumer = settled(KafkaConsumer(
            bootstrap_servers=command["bootstrap"], group_id=command["group"], group_instance_id=command.get("instanceId"),
            enable_auto_commit=False, auto_offset_reset="earliest", fetch_max_wait_ms=100, session_timeout_ms=command.get("sessionMs", 6000),
            heartbeat_interval_ms=300, partition_assignment_strategy=[assignor]))
        self.consumer.subscribe([self.topic], listener=self)
        self.leaving = threading.Event()
        self.tasks = []
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def on_partitions_revoked(self, revoked):
        pass

    def on_partitions_assigned(self, assigned):
        pass

    def run(self):
        before = None
        while not self.leaving.is_set():
            batches = self.consumer.poll(timeout_ms=POLL_MS)
            now = sorted(place.partition for place in self.consumer.assignment())
            if now != before and (now or before):
                event("assignment", self.name, partitions=now)
                before = now
            for messages in batches.values():
                for message in messages:
                    event("record", self.name, record=line_of(message))
            while self.tasks:
                self.tasks.pop(0)()
        self.consumer.close()

    def commit(self, offsets):
        done = threading.Event()
        failure = []

        def task():
            try:
                self.consumer.commit(offsets)
            except Exception as error:
                failure.append(error)
            done.set()

        self.tasks.append(task)
        if not done.wait(20):
            raise ClientError(-1, "commit was not answered within 20 s")
        if failure:
            raise client_error(failure[0])


def join(command):
    members[command["consumer"]] = Member(command)


def commit(command):
    member = members[command["consumer"]]
    member.commit({TopicPartition(member.topic, int(partition)): OffsetAndMetadata(offset, "", -1)
                   for partition, offset in command["offsets"].items()})


def leave(command):
    member = members.pop(command["consumer"])
    member.leaving.set()
    member.thread.join(20)


serve({"hello": hello, "produce": produce, "consume": consume, "join": join, "commit": commit, "leave": leave})
