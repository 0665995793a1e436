// Command driver drives one of two Go clients, Sarama or franz-go, by the lines protocol of ../README.md.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"sort"
	"sync"
	"time"
)

// Record is a record as the protocol's lines carry it: []byte is base64, nil is null.
type Record struct {
	Partition *int32   `json:"partition"`
	Offset    int64    `json:"offset"`
	Key       []byte   `json:"key"`
	Value     []byte   `json:"value"`
	Headers   []Header `json:"headers"`
	Timestamp *int64   `json:"timestamp"`
}

// Header is a pair in the lines: the name as text, the value as base64 or null.
type Header struct {
	Name  string
	Value []byte
}

// MarshalJSON writes the pair.
func (h Header) MarshalJSON() ([]byte, error) { return json.Marshal([]any{h.Name, h.Value}) }

// UnmarshalJSON reads the pair.
func (h *Header) UnmarshalJSON(text []byte) error {
	return json.Unmarshal(text, &[]any{&h.Name, &h.Value})
}

// Command is one line of standard input, all operations' fields together.
type Command struct {
	ID         int             `json:"id"`
	Op         string          `json:"op"`
	Bootstrap  string          `json:"bootstrap"`
	Topic      string          `json:"topic"`
	ClientID   string          `json:"clientId"`
	Acks       string          `json:"acks"`
	Codec      string          `json:"codec"`
	Idempotent bool            `json:"idempotent"`
	Records    []Record        `json:"records"`
	Counts     map[int32]int   `json:"counts"`
	Consumer   string          `json:"consumer"`
	Group      string          `json:"group"`
	Assignor   string          `json:"assignor"`
	InstanceID string          `json:"instanceId"`
	SessionMs  int             `json:"sessionMs"`
	Offsets    map[int32]int64 `json:"offsets"`
}

// session is how long the group keeps a silent member.
func (c Command) session() time.Duration {
	if c.SessionMs == 0 {
		return 6 * time.Second
	}
	return time.Duration(c.SessionMs) * time.Millisecond
}

// Client is what the two clients have in common here.
type Client interface {
	produce(Command) ([]*int64, error)
	consume(Command) ([]Record, error)
	join(Command) error
	commit(Command) error
	leave(Command) error
}

// KafkaError is a failure that the broker named by one of Kafka's error codes.
type KafkaError struct {
	Code    int
	Message string
}

func (e *KafkaError) Error() string { return e.Message }

var output sync.Mutex

func write(line any) {
	text, err := json.Marshal(line)
	if err != nil {
		panic(err)
	}
	output.Lock()
	defer output.Unlock()
	fmt.Fprintf(os.Stdout, "%s\n", text)
}

func event(kind, consumer string, field string, value any) {
	write(map[string]any{"event": kind, "consumer": consumer, field: value})
}

// assignments reports a member's partitions whenever they differ from what was reported last.
type assignments struct {
	consumer string
	mutex    sync.Mutex
	current  map[int32]bool
}

func (a *assignments) change(added, removed []int32) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if a.current == nil {
		a.current = map[int32]bool{}
	}
	for _, partition := range removed {
		delete(a.current, partition)
	}
	for _, partition := range added {
		a.current[partition] = true
	}
	now := make([]int32, 0, len(a.current))
	for partition := range a.current {
		now = append(now, partition)
	}
	sort.Slice(now, func(i, j int) bool { return now[i] < now[j] })
	event("assignment", a.consumer, "partitions", now)
}

func byPosition(records []Record) []Record {
	sort.Slice(records, func(i, j int) bool {
		if *records[i].Partition != *records[j].Partition {
			return *records[i].Partition < *records[j].Partition
		}
		return records[i].Offset < records[j].Offset
	})
	return records
}

func finished(counts map[int32]int) bool {
	for _, left := range counts {
		if left > 0 {
			return false
		}
	}
	return true
}

func version(module string) string {
	info, _ := debug.ReadBuildInfo()
	for _, dependency := range info.Deps {
		if dependency.Path == module {
			return dependency.Version
		}
	}
	return "unknown"
}

func perform(client Client, command Command, answer map[string]any) (err error) {
	switch command.Op {
	case "produce":
		answer["offsets"], err = client.produce(command)
	case "consume":
		answer["records"], err = client.consume(command)
	case "join":
		err = client.join(command)
	case "commit":
		err = client.commit(command)
	case "leave":
		err = client.leave(command)
	default:
		err = fmt.Errorf("no operation %q", command.Op)
	}
	return err
}

func main() {
	var client Client
	hello := map[string]any{}
	switch os.Args[1] {
	case "sarama":
		client = &saramaClient{members: map[string]*saramaMember{}}
		hello["client"], hello["version"] = "Sarama", version("github.com/IBM/sarama")
	case "franz-go":
		client = &franzClient{members: map[string]*franzMember{}}
		hello["client"], hello["version"] = "franz-go", version("github.com/twmb/franz-go")
	}
	input := bufio.NewReaderSize(os.Stdin, 1<<20)
	for {
		line, err := input.ReadBytes('\n')
		if err != nil {
			return
		}
		var command Command
		if err := json.Unmarshal(line, &command); err != nil {
			panic(err)
		}
		answer := map[string]any{"id": command.ID}
		if command.Op == "hello" {
			for name, value := range hello {
				answer[name] = value
			}
		} else if err := perform(client, command, answer); err != nil {
			failure := map[string]any{"code": -1, "message": err.Error()}
			var known *KafkaError
			if errors.As(err, &known) {
				failure["code"] = known.Code
			}
			answer["error"] = failure
		}
		write(answer)
	}
}

const patience = 30 * time.Second
