package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/IBM/sarama"
)

type saramaClient struct{ members map[string]*saramaMember }

// saramaMember is a group member; it is also the handler that Sarama calls.
type saramaMember struct {
	assignments
	topic   string
	group   sarama.ConsumerGroup
	stop    context.CancelFunc
	ended   chan struct{}
	lock    sync.Mutex
	session sarama.ConsumerGroupSession
}

func saramaError(err error) error {
	var known sarama.KError
	if errors.As(err, &known) {
		return &KafkaError{int(known), err.Error()}
	}
	var all sarama.ProducerErrors
	if errors.As(err, &all) && len(all) > 0 {
		return saramaError(all[0].Err)
	}
	return err
}

func saramaConfig() *sarama.Config {
	config := sarama.NewConfig()
	config.ClientID = "rowlog-tests"
	config.Version = sarama.MaxVersion
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	config.Consumer.MaxWaitTime = 100 * time.Millisecond
	config.Consumer.Return.Errors = true
	return config
}

// saramaPartitioner sends a record to the partition it names, and the rest as Sarama does by default.
type saramaPartitioner struct{ sarama.Partitioner }

func (p saramaPartitioner) Partition(message *sarama.ProducerMessage, partitions int32) (int32, error) {
	if message.Partition >= 0 {
		return message.Partition, nil
	}
	return p.Partitioner.Partition(message, partitions)
}

var saramaCodecs = map[string]sarama.CompressionCodec{"none": sarama.CompressionNone, "gzip": sarama.CompressionGZIP,
	"snappy": sarama.CompressionSnappy, "lz4": sarama.CompressionLZ4, "zstd": sarama.CompressionZSTD}

func (c *saramaClient) produce(command Command) ([]*int64, error) {
	config := saramaConfig()
	if command.ClientID != "" {
		config.ClientID = command.ClientID
	}
	config.Producer.RequiredAcks = map[string]sarama.RequiredAcks{"0": sarama.NoResponse, "1": sarama.WaitForLocal, "all": sarama.WaitForAll}[command.Acks]
	config.Producer.Compression = saramaCodecs[command.Codec]
	config.Producer.Idempotent = command.Idempotent
	if command.Idempotent {
		config.Net.MaxOpenRequests = 1
		config.Producer.Retry.Max = 8
	}
	config.Producer.Retry.Backoff = 50 * time.Millisecond
	config.Producer.Flush.Frequency = 50 * time.Millisecond
	config.Producer.MaxMessageBytes = 20_000_000
	config.Producer.Return.Successes = true
	config.Producer.Partitioner = func(topic string) sarama.Partitioner { return saramaPartitioner{sarama.NewHashPartitioner(topic)} }
	producer, err := sarama.NewSyncProducer([]string{command.Bootstrap}, config)
	if err != nil {
		return nil, err
	}
	defer producer.Close()
	messages := make([]*sarama.ProducerMessage, 0, len(command.Records))
	for _, record := range command.Records {
		message := &sarama.ProducerMessage{Topic: command.Topic, Partition: -1}
		if record.Key != nil {
			message.Key = sarama.ByteEncoder(record.Key)
		}
		if record.Value != nil {
			message.Value = sarama.ByteEncoder(record.Value)
		}
		if record.Partition != nil {
			message.Partition = *record.Partition
		}
		if record.Timestamp != nil {
			message.Timestamp = time.UnixMilli(*record.Timestamp)
		}
		for _, header := range record.Headers {
			message.Headers = append(message.Headers, sarama.RecordHeader{Key: []byte(header.Name), Value: header.Value})
		}
		messages = append(messages, message)
	}
	if err := producer.SendMessages(messages); err != nil {
		return nil, saramaError(err)
	}
	offsets := make([]*int64, 0, len(messages))
	for _, message := range messages {
		if command.Acks == "0" {
			offsets = append(offsets, nil)
		} else {
			offsets = append(offsets, &message.Offset)
		}
	}
	return offsets, nil
}

func saramaLine(message *sarama.ConsumerMessage) Record {
	timestamp := message.Timestamp.UnixMilli()
	headers := []Header{}
	for _, header := range message.Headers {
		headers = append(headers, Header{string(header.Key), header.Value})
	}
	return Record{&message.Partition, message.Offset, message.Key, message.Value, headers, &timestamp}
}

func (c *saramaClient) consume(command Command) ([]Record, error) {
	config := saramaConfig()
	config.Consumer.Fetch.Default = 20_000_000
	consumer, err := sarama.NewConsumer([]string{command.Bootstrap}, config)
	if err != nil {
		return nil, err
	}
	defer consumer.Close()
	messages := make(chan *sarama.ConsumerMessage)
	stopped := make(chan struct{})
	defer close(stopped)
	for partition := range command.Counts {
		reader, err := consumer.ConsumePartition(command.Topic, partition, sarama.OffsetOldest)
		if err != nil {
			return nil, saramaError(err)
		}
		defer reader.AsyncClose()
		go func() {
			for message := range reader.Messages() {
				select {
				case messages <- message:
				case <-stopped:
					return
				}
			}
		}()
	}
	records := []Record{}
	limit := time.After(patience)
	for !finished(command.Counts) {
		select {
		case message := <-messages:
			command.Counts[message.Partition]--
			records = append(records, saramaLine(message))
		case <-limit:
			return nil, fmt.Errorf("still to come after %s: %v", patience, command.Counts)
		}
	}
	return byPosition(records), nil
}

func (m *saramaMember) Setup(session sarama.ConsumerGroupSession) error {
	m.lock.Lock()
	m.session = session
	m.lock.Unlock()
	return nil
}

func (m *saramaMember) Cleanup(sarama.ConsumerGroupSession) error { return nil }

// ConsumeClaim runs once for each partition for as long as the member has it.
func (m *saramaMember) ConsumeClaim(_ sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	m.change([]int32{claim.Partition()}, nil)
	defer m.change(nil, []int32{claim.Partition()})
	for message := range claim.Messages() {
		event("record", m.consumer, "record", saramaLine(message))
	}
	return nil
}

func (c *saramaClient) join(command Command) error {
	config := saramaConfig()
	config.Consumer.Group.Session.Timeout = command.session()
	config.Consumer.Group.Heartbeat.Interval = 300 * time.Millisecond
	config.Consumer.Group.Rebalance.Timeout = 10 * time.Second
	config.Consumer.Group.Rebalance.Retry.Backoff = 200 * time.Millisecond
	config.Consumer.Group.InstanceId = command.InstanceID
	config.Consumer.Offsets.AutoCommit.Enable = false
	strategy := sarama.NewBalanceStrategyRange()
	if command.Assignor == "cooperative" {
		strategy = sarama.NewBalanceStrategyCooperativeSticky()
	}
	config.Consumer.Group.Rebalance.GroupStrategies = []sarama.BalanceStrategy{strategy}
	group, err := sarama.NewConsumerGroup([]string{command.Bootstrap}, command.Group, config)
	if err != nil {
		return err
	}
	running, stop := context.WithCancel(context.Background())
	member := &saramaMember{topic: command.Topic, group: group, stop: stop, ended: make(chan struct{})}
	member.consumer = command.Consumer
	c.members[command.Consumer] = member
	go func() {
		for err := range group.Errors() {
			event("error", command.Consumer, "message", err.Error())
		}
	}()
	go func() {
		defer close(member.ended)
		for running.Err() == nil {
			if err := group.Consume(running, []string{command.Topic}, member); err != nil {
				event("error", command.Consumer, "message", err.Error())
				time.Sleep(100 * time.Millisecond)
			}
		}
	}()
	return nil
}

func (c *saramaClient) commit(command Command) error {
	member := c.members[command.Consumer]
	member.lock.Lock()
	defer member.lock.Unlock()
	for partition, offset := range command.Offsets {
		member.session.MarkOffset(member.topic, partition, offset, "")
	}
	member.session.Commit()
	return nil
}

func (c *saramaClient) leave(command Command) error {
	member := c.members[command.Consumer]
	delete(c.members, command.Consumer)
	member.stop()
	<-member.ended
	return member.group.Close()
}
