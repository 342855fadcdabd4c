//go:build !race

package sandbox

// raceSlack is as in race_test.go; there is no race detector here.
const raceSlack = 1
