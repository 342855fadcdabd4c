//go:build race

package sandbox

// raceSlack is how many times the memory the race detector may take on top.
const raceSlack = 2
