package kill

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"
)

// Record is one record of the input.
type Record struct {
	Key   string
	Time  int64 // event time in ms
	Value int32
}

// AppendJSON appends the record as a line's text, without its newline.
func (r Record) AppendJSON(b []byte) []byte {
	return fmt.Appendf(b, `{"k":%q,"t":%d,"delay":%d}`, r.Key, r.Time, r.Value)
}

// Schema is the records' schema in a job file. The functions of testdata/wasm read the column delay.
const Schema = "{k: STRING, t: TIMESTAMP(3), delay: INT}"

const (
	// firstTime is the event time of the first record, 2001-09-09T01:46:40Z.
	firstTime = 1_000_000_000_000
	// step is how far event time moves from one record to the next of all partitions.
	step = 10 // ms
	// jitter is below how much later a record may be than its turn: a record comes behind others of its partition that are
	// up to jitter-1 later than it.
	jitter = 2000 // ms
	// OutOfOrderness is what a job must allow for, more than jitter. The watermark that a partition's records allow for is
	// therefore always below the records that are to come in it, and the watermark of them all is the least of them. So no
	// record is late, nor does one touch a session that has ended.
	OutOfOrderness = 5 * time.Second
	// keys is the number of keys.
	keys = 50
)

// Input makes records without end.
type Input struct {
	random     *rand.Rand
	partitions int
	made       int64
}

// NewInput returns the input that follows from a seed.
func NewInput(seed uint64, partitions int) *Input {
	return &Input{random: rand.New(rand.NewPCG(seed, 1)), partitions: partitions}
}

// Next returns the next record and its partition. A key's records are in all partitions, so that its windows depend on
// how far each of them has been read.
func (in *Input) Next() (int, Record) {
	r := Record{
		Key:   "k" + strconv.Itoa(in.random.IntN(keys)),
		Time:  firstTime + in.made*step + in.random.Int64N(jitter),
		Value: int32(in.random.IntN(2000) - 1000),
	}
	in.made++
	return in.random.IntN(in.partitions), r
}

// Last returns one record for each partition that lets event time move past all others. Their own windows stay open in a
// job whose input does not end.
func (in *Input) Last() []Record {
	last := make([]Record, in.partitions)
	for p := range last {
		last[p] = Record{Key: "last", Time: firstTime + in.made*step + time.Hour.Milliseconds()}
	}
	return last
}
