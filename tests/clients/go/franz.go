package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

type franzClient struct{ members map[string]*franzMember }

type franzMember struct {
	client *kgo.Client
	topic  string
	stop   context.CancelFunc
	ended  chan struct{}
}

func franzError(err error) error {
	var known *kerr.Error
	if errors.As(err, &known) {
		return &KafkaError{int(known.Code), err.Error()}
	}
	return err
}

func franzCodec(name string) kgo.CompressionCodec {
	switch name {
	case "gzip":
		return kgo.GzipCompression()
	case "snappy":
		return kgo.SnappyCompression()
	case "lz4":
		return kgo.Lz4Compression()
	case "zstd":
		return kgo.ZstdCompression()
	}
	return kgo.NoCompression()
}

// partitioner sends a record to the partition it names, and the rest as franz-go does by default.
type partitioner struct{ kgo.Partitioner }
type topicPartitioner struct{ kgo.TopicPartitioner }

func (p partitioner) ForTopic(topic string) kgo.TopicPartitioner {
	return topicPartitioner{p.Partitioner.ForTopic(topic)}
}

func (p topicPartitioner) Partition(record *kgo.Record, partitions int) int {
	if record.Partition >= 0 {
		return int(record.Partition)
	}
	return p.TopicPartitioner.Partition(record, partitions)
}

func (c *franzClient) produce(command Command) ([]*int64, error) {
	acks := map[string]kgo.Acks{"0": kgo.NoAck(), "1": kgo.LeaderAck(), "all": kgo.AllISRAcks()}[command.Acks]
	name := command.ClientID
	if name == "" {
		name = "rowlog-tests"
	}
	options := []kgo.Opt{
		kgo.SeedBrokers(command.Bootstrap), kgo.ClientID(name), kgo.RequiredAcks(acks),
		kgo.ProducerBatchCompression(franzCodec(command.Codec)), kgo.ProducerLinger(50 * time.Millisecond),
		kgo.ProducerBatchMaxBytes(20_000_000),
		kgo.RecordPartitioner(partitioner{kgo.StickyKeyPartitioner(nil)}),
	}
	if !command.Idempotent {
		options = append(options, kgo.DisableIdempotentWrite())
	}
	client, err := kgo.NewClient(options...)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	records := make([]*kgo.Record, 0, len(command.Records))
	for _, record := range command.Records {
		out := &kgo.Record{Topic: command.Topic, Partition: -1, Key: record.Key, Value: record.Value}
		if record.Partition != nil {
			out.Partition = *record.Partition
		}
		if record.Timestamp != nil {
			out.Timestamp = time.UnixMilli(*record.Timestamp)
		}
		for _, header := range record.Headers {
			out.Headers = append(out.Headers, kgo.RecordHeader{Key: header.Name, Value: header.Value})
		}
		records = append(records, out)
	}
	// Not RecordDeliveryTimeout: it counts from the record's own timestamp.
	limit, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	results := client.ProduceSync(limit, records...)
	if err := results.FirstErr(); err != nil {
		return nil, franzError(err)
	}
	// Results come in the order of the answers: the records themselves hold their offsets.
	offsets := make([]*int64, 0, len(records))
	for _, record := range records {
		if command.Acks == "0" {
			offsets = append(offsets, nil)
		} else {
			offsets = append(offsets, &record.Offset)
		}
	}
	return offsets, nil
}

func franzLine(record *kgo.Record) Record {
	timestamp := record.Timestamp.UnixMilli()
	headers := []Header{}
	for _, header := range record.Headers {
		headers = append(headers, Header{header.Key, header.Value})
	}
	return Record{&record.Partition, record.Offset, record.Key, record.Value, headers, &timestamp}
}

func (c *franzClient) consume(command Command) ([]Record, error) {
	places := map[int32]kgo.Offset{}
	for partition := range command.Counts {
		places[partition] = kgo.NewOffset().AtStart()
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(command.Bootstrap), kgo.FetchMaxWait(100*time.Millisecond),
		kgo.FetchMaxPartitionBytes(20_000_000),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{command.Topic: places}))
	if err != nil {
		return nil, err
	}
	defer client.Close()
	limit, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	records := []Record{}
	for !finished(command.Counts) {
		fetches := client.PollFetches(limit)
		if err := fetches.Err0(); err != nil {
			return nil, fmt.Errorf("still to come: %v: %w", command.Counts, franzError(err))
		}
		fetches.EachRecord(func(record *kgo.Record) {
			command.Counts[record.Partition]--
			records = append(records, franzLine(record))
		})
	}
	return byPosition(records), nil
}

func (c *franzClient) join(command Command) error {
	balancer := kgo.RangeBalancer()
	if command.Assignor == "cooperative" {
		balancer = kgo.CooperativeStickyBalancer()
	}
	reported := &assignments{consumer: command.Consumer}
	topic := command.Topic
	options := []kgo.Opt{
		kgo.SeedBrokers(command.Bootstrap), kgo.ConsumerGroup(command.Group), kgo.ConsumeTopics(topic), kgo.Balancers(balancer),
		kgo.SessionTimeout(command.session()), kgo.HeartbeatInterval(300 * time.Millisecond), kgo.RebalanceTimeout(10 * time.Second),
		kgo.DisableAutoCommit(), kgo.FetchMaxWait(100 * time.Millisecond),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.OnPartitionsAssigned(func(_ context.Context, _ *kgo.Client, added map[string][]int32) { reported.change(added[topic], nil) }),
		kgo.OnPartitionsRevoked(func(_ context.Context, _ *kgo.Client, lost map[string][]int32) { reported.change(nil, lost[topic]) }),
		kgo.OnPartitionsLost(func(_ context.Context, _ *kgo.Client, lost map[string][]int32) { reported.change(nil, lost[topic]) }),
	}
	if command.InstanceID != "" {
		options = append(options, kgo.InstanceID(command.InstanceID))
	}
	client, err := kgo.NewClient(options...)
	if err != nil {
		return err
	}
	running, stop := context.WithCancel(context.Background())
	member := &franzMember{client, topic, stop, make(chan struct{})}
	c.members[command.Consumer] = member
	go func() {
		defer close(member.ended)
		for running.Err() == nil {
			client.PollFetches(running).EachRecord(func(record *kgo.Record) {
				event("record", command.Consumer, "record", franzLine(record))
			})
		}
	}()
	return nil
}

func (c *franzClient) commit(command Command) error {
	member := c.members[command.Consumer]
	places := map[int32]kgo.EpochOffset{}
	for partition, offset := range command.Offsets {
		places[partition] = kgo.EpochOffset{Epoch: -1, Offset: offset}
	}
	var failure error
	member.client.CommitOffsetsSync(context.Background(), map[string]map[int32]kgo.EpochOffset{member.topic: places},
		func(_ *kgo.Client, _ *kmsg.OffsetCommitRequest, response *kmsg.OffsetCommitResponse, err error) {
			failure = err
			if err != nil {
				return
			}
			for _, topic := range response.Topics {
				for _, partition := range topic.Partitions {
					if err := kerr.ErrorForCode(partition.ErrorCode); err != nil {
						failure = err
					}
				}
			}
		})
	if failure != nil {
		return franzError(failure)
	}
	return nil
}

func (c *franzClient) leave(command Command) error {
	member := c.members[command.Consumer]
	delete(c.members, command.Consumer)
	member.stop()
	<-member.ended
	member.client.Close()
	return nil
}
