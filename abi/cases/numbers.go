package cases

import numbers "github.com/wasmstream/wasmstream/abi"

// The numbers of the ABI that are needed here, and all that this package knows of it.
const (
	version = numbers.Version

	headerBytes    = numbers.HeaderBytes
	opBytes        = numbers.OpBytes
	slotEntryBytes = numbers.SlotEntryBytes
	contextBytes   = numbers.ContextBytes
	noSlot         = numbers.NoSlot

	contextRecordBytes = numbers.ContextRecordBytes
	contextKeyedBytes  = numbers.ContextKeyedBytes
	contextWindowBytes = numbers.ContextWindowBytes
	contextGroupBytes  = numbers.ContextGroupBytes
	contextPairBytes   = numbers.ContextPairBytes

	contextAtTime      = numbers.ContextAtTime
	contextAtWatermark = numbers.ContextAtWatermark
	contextAtClock     = numbers.ContextAtClock
	contextAtKey       = numbers.ContextAtKey
	contextAtDetail    = numbers.ContextAtDetail
	contextAtStart     = numbers.ContextAtStart
	contextAtEnd       = numbers.ContextAtEnd
	contextAtList      = numbers.ContextAtList
	contextAtCount     = numbers.ContextAtCount
	contextAtSecond    = numbers.ContextAtSecond
)

// Kinds of ops.
const (
	opOpen             = uint16(numbers.OpOpen)
	opCreate           = uint16(numbers.OpCreate)
	opAdd              = uint16(numbers.OpAdd)
	opMerge            = uint16(numbers.OpMerge)
	opResult           = uint16(numbers.OpResult)
	opReduce           = uint16(numbers.OpReduce)
	opOnRecord         = uint16(numbers.OpOnRecord)
	opOnSecond         = uint16(numbers.OpOnSecond)
	opOnBroadcast      = uint16(numbers.OpOnBroadcast)
	opOnTimer          = uint16(numbers.OpOnTimer)
	opOnWindow         = uint16(numbers.OpOnWindow)
	opAssign           = uint16(numbers.OpAssign)
	opOnElement        = uint16(numbers.OpOnElement)
	opOnEventTime      = uint16(numbers.OpOnEventTime)
	opOnProcessingTime = uint16(numbers.OpOnProcessingTime)
	opOnMerge          = uint16(numbers.OpOnMerge)
	opClear            = uint16(numbers.OpClear)
	opEvict            = uint16(numbers.OpEvict)
	opOnPair           = uint16(numbers.OpOnPair)
	opOnGroup          = uint16(numbers.OpOnGroup)
	opOnAnswer         = uint16(numbers.OpOnAnswer)
	opDecode           = uint16(numbers.OpDecode)
	opEncode           = uint16(numbers.OpEncode)
	opOnKey            = uint16(numbers.OpOnKey)
)

// Kinds of effects.
const (
	effectEmit        = uint32(numbers.EffectEmit)
	effectSetTimer    = uint32(numbers.EffectSetTimer)
	effectDeleteTimer = uint32(numbers.EffectDeleteTimer)
	effectDecide      = uint32(numbers.EffectDecide)
	effectAssign      = uint32(numbers.EffectAssign)
	effectEvict       = uint32(numbers.EffectEvict)
	effectKeep        = uint32(numbers.EffectKeep)
	effectEventTime   = uint32(numbers.EffectEventTime)
	effectWatermark   = uint32(numbers.EffectWatermark)
	effectRequest     = uint32(numbers.EffectRequest)
	effectSchema      = uint32(numbers.EffectSchema)
	effectVisitKeys   = uint32(numbers.EffectVisitKeys)
)

// Places of the header's fields.
const (
	atVersion        = numbers.HeaderAtVersion
	atOpsCount       = numbers.HeaderAtOpsCount
	atOpsOffset      = numbers.HeaderAtOpsOffset
	atSlotsOffset    = numbers.HeaderAtSlotsOffset
	atSlotsCount     = numbers.HeaderAtSlotsCount
	atSlotStride     = numbers.HeaderAtSlotStride
	atRowsOffset     = numbers.HeaderAtRowsOffset
	atRowsLength     = numbers.HeaderAtRowsLength
	atContextsOffset = numbers.HeaderAtContextsOffset
	atContextsLength = numbers.HeaderAtContextsLength
	atTotalLength    = numbers.HeaderAtTotalLength
)
