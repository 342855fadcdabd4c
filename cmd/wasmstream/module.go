package main

// ModuleCommands look at modules.
type ModuleCommands struct {
	Inspect InspectCommand `cmd:"" help:"Show what modules say about themselves, without running them."`
	Pack    PackCommand    `cmd:"" help:"Write a module's manifest into it."`
}
