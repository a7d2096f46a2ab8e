// Package java has the program Contenders, by which Curator's locks and those that come with ZooKeeper are driven: its sources,
// which Compile compiles, and what it takes to run them.
//
//	jars, err := java.Curator("5.7")
//	classes, err := java.Compile(ctx, folder, jars)
//	p, err := java.Start(ctx, "5.7", classes, jars)
//
// What is not installed gives an error that matches driven.ErrMissing. Curator 5.4 is in Debian's package
// libcurator-recipes-java (Debian 12), 5.7 in the folder into which make servers unpacks ZooKeeper 3.9, the compiler in
// default-jdk-headless.
package java
