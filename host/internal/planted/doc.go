// Package planted plants bugs into the engine, to see that tests find them. Each is a patch in testdata/planted that says
// what is wrong with it and which test must fail:
//
//	What: the folder is not synced after a rename
//	Test: ./host/checkpoint/folder TestPutAndCrash
//	--- a/host/checkpoint/folder/folder.go
//	+++ b/host/checkpoint/folder/folder.go
//	@@ …
//
// It promises:
//
//	A. The tree is not touched: the patched files lie in a temporary folder, and Go's overlay puts them in the place of
//	   those of the tree. So it works in an export without git, too.
//	B. A hunk applies where its lines stand, wherever that has moved to; it does not apply if they changed. Of several
//	   such places the nearest is meant.
//	C. A bug is caught if its test passes without it, and with it the code builds, and that test fails. That
//	   something did not compile or that there is no such test counts for nothing.
//
// Its caveat: a patch changes files; it neither adds nor removes any.
package planted
