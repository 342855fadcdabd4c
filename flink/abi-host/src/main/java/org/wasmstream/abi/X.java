package org.wasmstream.abi; class X {}
