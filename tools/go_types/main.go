// Command go_types prints the Go type of every field of the built-in kinds as JSON: an API server's message about a value
// that does not fit names the Go type.
package main

import (
	"encoding/json"
	"os"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
)

// field describes a field: the type that its values are decoded as ("string", "int32", "quantity", ...), "" for another
// listed type; and the name of its type if it has one.
type field struct {
	Leaf string `json:"leaf,omitempty"`
	Name string `json:"name,omitempty"`
}

var readers = map[string]string{
	"resource.Quantity":  "quantity",
	"intstr.IntOrString": "intOrString",
	"v1.Time":            "time",
	"v1.MicroTime":       "microTime",
	"v1.Duration":        "duration",
}

func main() {
	types := map[string]map[string]field{}
	for gvk, kind := range scheme.Scheme.AllKnownTypes() {
		if gvk.Version != runtime.APIVersionInternal && !strings.HasSuffix(gvk.Kind, "List") {
			walk(kind, types)
		}
	}
	if err := json.NewEncoder(os.Stdout).Encode(types); err != nil {
		panic(err)
	}
}

func walk(t reflect.Type, types map[string]map[string]field) {
	name := strings.ReplaceAll(t.PkgPath(), "/", ".") + "." + t.Name()
	if _, known := types[name]; known || t.Kind() != reflect.Struct || readers[t.String()] != "" {
		return
	}
	types[name] = map[string]field{}
	fields(t, types[name], types)
}

func fields(t reflect.Type, into map[string]field, types map[string]map[string]field) {
	for i := range t.NumField() {
		f := t.Field(i)
		key, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && (key == "" || strings.Contains(options, "inline")) {
			fields(f.Type, into, types)
			continue
		}
		if key == "" || key == "-" {
			continue
		}
		outer := inner(f.Type)
		named := ""
		if outer.PkgPath() != "" && outer.Kind() != reflect.Struct {
			named = outer.String()
		}
		of := outer
		for readers[of.String()] == "" && (of.Kind() == reflect.Slice || of.Kind() == reflect.Map) {
			of = inner(of.Elem())
			if outer.Kind() == reflect.Slice && of.Kind() == reflect.Uint8 {
				break
			}
		}
		if of.Kind() == reflect.Struct && readers[of.String()] == "" && of.String() != "v1.FieldsV1" && of.String() != "runtime.RawExtension" {
			walk(of, types)
			into[key] = field{Name: named}
			continue
		}
		leaf := readers[of.String()]
		if leaf == "" {
			leaf = of.Kind().String()
		}
		if named == "" && outer != of && of.PkgPath() != "" && readers[of.String()] == "" {
			named = outer.String()
		}
		into[key] = field{Leaf: leaf, Name: named}
	}
}

func inner(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}
