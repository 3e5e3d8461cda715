// Command judge says what the real kube-scheduler does with a case.
//
// Cases come in on standard input, one JSON object a line; answers go out on standard output, one a line and in the
// order of the cases, each as soon as it is known, so that a caller can ask, read and ask again. conformance/README.md
// describes both. The same case gives the same answer: where the scheduler leaves a choice to chance, the answer
// names every outcome.
//
//go:debug randseednop=0
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/go-logr/logr"
	"k8s.io/component-base/version"
	"k8s.io/klog/v2"
	corev1 "k8s.io/kubernetes/pkg/apis/core/v1"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
)

func main() {
	workers := flag.Int("workers", 4, "how many cases to work on at once; they mostly wait for informers")
	printVersion := flag.Bool("version", false, "print the Kubernetes version that this program was built from")
	gates := flag.Bool("gates", false, "list the feature gates of the scheduler with their defaults")
	timing := flag.Bool("bench", false, "time the scheduler's own cycle; bench.go describes the lines of standard input")
	flag.Parse()
	if *printVersion {
		fmt.Println(version.Get().GitVersion)
		return
	}
	if *gates {
		if err := printGates(os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, "judge:", err)
			os.Exit(1)
		}
		return
	}
	// The scheduler's own log would only repeat what the answers say.
	klog.SetLogger(logr.Discard())
	metrics.Register()
	err := errors.Join(corev1.AddToScheme(defaults), addGroupsToScheme(defaults))
	switch {
	case err != nil:
	case *timing:
		err = bench(os.Stdin, os.Stdout)
	default:
		err = serve(os.Stdin, os.Stdout, *workers)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "judge:", err)
		os.Exit(1)
	}
}

// serve answers the cases of a stream, several at once, in their order.
func serve(in io.Reader, out io.Writer, workers int) error {
	lines := bufio.NewReaderSize(in, 1<<20)
	queue := make(chan chan any, workers)
	failed := make(chan error, 1)
	go func() {
		defer close(queue)
		slots := make(chan struct{}, workers)
		for {
			line, err := lines.ReadBytes('\n')
			if len(line) > 1 {
				result := make(chan any, 1)
				slots <- struct{}{}
				queue <- result
				go func() {
					defer func() { <-slots }()
					result <- respond(line)
				}()
			}
			if err != nil {
				if !errors.Is(err, io.EOF) {
					failed <- err
				}
				return
			}
		}
	}()
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	for result := range queue {
		if err := encoder.Encode(<-result); err != nil {
			return err
		}
	}
	select {
	case err := <-failed:
		return err
	default:
		return nil
	}
}

// respond answers one line.
func respond(line []byte) any {
	var q question
	if err := json.Unmarshal(line, &q); err != nil {
		return answer{header: header{Error: "case: " + err.Error()}}
	}
	if q.Pods != nil {
		return runSequence(q)
	}
	return decide(q)
}
