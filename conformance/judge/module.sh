#!/usr/bin/env bash
# module.sh VERSION NAME: prints the go.mod of a module NAME that depends on a version of Kubernetes (1.38.0), with every
# dependency in the version that Kubernetes itself was built with.
#
# The go.mod of Kubernetes is the start. Its own parts, which it takes from the folder beside it, come from their published
# modules. The line "toolchain" names the Go that Kubernetes was built with: export GOTOOLCHAIN=auto, so that an older Go
# fetches it.
set -euo pipefail
version=$1 name=$2

# Where the module proxy lacks something that a version of Kubernetes names, these lines for sed mend its go.mod:
# 1.38.0-beta.0 names two parts that the scheduler does without, and a patch version of structured-merge-diff.
mends=()
case $version in
1.38.0-beta.0)
  merge=sigs.k8s.io/structured-merge-diff/v7
  mends=(-e '\#^\sk8s.io/\(apiextensions-api\|ktesting\) #d' -e "s|^replace ($|&\n\t$merge => $merge v7.0.0|")
  ;;
esac

# An older Go reports an error, since it would not build this, but fetches the module all the same.
found=$(cd / && GOTOOLCHAIN=local go mod download -json "k8s.io/kubernetes@v$version" || true)
place() { sed -n "s/^\t\"$1\": \"\(.*\)\",\$/\1/p" <<< "$found"; }
[ -f "$(place Zip)" ] || { echo "$found" >&2; exit 1; }
toolchain=$(unzip -p "$(place Zip)" "k8s.io/kubernetes@v$version/.go-version")
sed -e "s|^module .*|module $name\n\nrequire k8s.io/kubernetes v$version\n\ntoolchain go$toolchain|" \
  -e "s|=> ./staging/src/\(k8s.io/[a-z-]*\)|=> \1 v0.${version#*.}|" "${mends[@]}" "$(place GoMod)"
