module github.com/lockkeeper/lockkeeper/integration

go 1.25.0

require github.com/lockkeeper/lockkeeper v0.0.0

require (
	github.com/anishathalye/porcupine v1.3.1
	github.com/go-zookeeper/zk v1.0.4
)

replace github.com/lockkeeper/lockkeeper => ../
