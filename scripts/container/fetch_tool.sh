#!/bin/sh
# Put one program into a folder: fetch_tool.sh URL SHA256 NAME FOLDER
# The URL leads to the program itself or to a .tar.gz that holds it. Nothing is installed unless the checksum is right.
set -eu

if [ "$#" -ne 4 ]; then
  echo "usage: $0 URL SHA256 NAME FOLDER" >&2
  exit 2
fi
url=$1 checksum=$2 name=$3 folder=$4

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

python3 - "$url" "$work/download" <<'PYTHON'
import shutil
import sys
import urllib.request

with urllib.request.urlopen(sys.argv[1], timeout=300) as source, open(sys.argv[2], "wb") as target:
    shutil.copyfileobj(source, target)
PYTHON

if ! printf '%s  %s\n' "$checksum" "$work/download" | sha256sum --check --status; then
  echo "$url does not have the checksum $checksum" >&2
  exit 1
fi

case $url in
  *.tar.gz)
    mkdir "$work/unpacked"
    tar -xzf "$work/download" -C "$work/unpacked"
    program=$(find "$work/unpacked" -type f -name "$name" | head -n 1)
    ;;
  *) program=$work/download ;;
esac
if [ ! -f "$program" ]; then
  echo "$url does not hold $name" >&2
  exit 1
fi
install -m 0755 "$program" "$folder/$name"
