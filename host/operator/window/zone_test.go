package window_test

import (
	"time"
	_ "time/tzdata"
)

var berlin = zone("Europe/Berlin")

func zone(name string) *time.Location {
	z, err := time.LoadLocation(name)
	if err != nil {
		panic(err)
	}
	return z
}
