// Command currency turns payments into euros, at the rate that was valid at their time.
package main

import ws "github.com/wasmstream/wasmstream/guest-sdk/go"

// The columns of the input, of the broadcast input, of the state and of the output.
const (
	currency ws.String = 0
	cents    ws.BigInt = 1

	since ws.Timestamp = 1 // of the broadcast input, and of the state's key
	rate  ws.Double    = 2

	stateRate ws.Double = 0

	euroCents    ws.BigInt = 0
	paidCurrency ws.String = 1
	paidCents    ws.BigInt = 2
)

// rates are all there have been, by currency and by when they began.
var rates = &ws.MapState{
	Name: "rates", Scope: ws.Broadcast,
	Key: ws.Columns{currency.As("currency"), since.As("since")}, Columns: ws.Columns{stateRate.As("rate")},
}

func init() {
	payment := ws.Columns{currency.As("currency"), cents.As("cents")}
	ws.Register(&ws.BroadcastProcess{
		Name: "currency", Doc: "payments in euros, at the rate that was valid at their time; rates come by broadcast",
		Input: payment, Second: ws.Columns{currency.As("currency"), since.As("since"), rate.As("rate")},
		Output:  ws.Columns{euroCents.As("euro_cents"), paidCurrency.As("currency"), paidCents.As("cents")},
		Outputs: []ws.Output{{Name: "unknown", Columns: payment}},
		States:  []ws.State{rates},
		OnRecord: func(o *ws.Op, in ws.Row) {
			valid, found := find(o, currency.Get(in))
			if !found {
				out := o.Emit(1)
				currency.Set(out, currency.Get(in))
				cents.Set(out, cents.Get(in))
				return
			}
			out := o.Emit(0)
			euroCents.Set(out, int64(valid*float64(cents.Get(in))))
			paidCurrency.Set(out, currency.Get(in))
			paidCents.Set(out, cents.Get(in))
		},
		OnBroadcast: func(o *ws.Op, in ws.Row) {
			key := rates.KeyRow()
			currency.Set(key, currency.Get(in))
			since.Set(key, since.Get(in))
			if rate.IsNull(in) {
				rates.Remove(o, key)
				return
			}
			value := rates.Row()
			stateRate.Set(value, rate.Get(in))
			rates.Put(o, key, value)
		},
	})
}

func main() { ws.Main() }

// find is the rate of a currency at the op's time. Keys are in the order of their bytes, which is not that of time.
func find(o *ws.Op, of string) (valid float64, found bool) {
	newest := int64(0)
	for key, value := range rates.All(o) {
		begin := since.Get(key)
		if currency.Get(key) == of && begin <= o.Time() && (!found || begin > newest) {
			newest, valid, found = begin, stateRate.Get(value), true
		}
	}
	return valid, found
}
