package main

// ModuleCommands look at modules.
type ModuleCommands struct {
	Inspect InspectCommand `cmd:"" help:"Show what modules say about themselves, without running them; with --run, what their functions cost."`
	Pack    PackCommand    `cmd:"" help:"Write a module's manifest into it."`
	Conform ConformCommand `cmd:"" help:"Play the conformance suite of the ABI on a module."`
}
