#!/bin/sh
# Makes the patches in this folder with the real tools. Run it here; the snapshots next to the
# tests then show what changed in their reading.
set -eu
out=$(pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1 LC_ALL=C TZ=UTC
export GIT_AUTHOR_DATE='2024-05-01T10:00:00Z' GIT_COMMITTER_DATE='2024-05-01T10:00:00Z'
export GIT_AUTHOR_NAME='Test' GIT_AUTHOR_EMAIL='test@example.org'
export GIT_COMMITTER_NAME='Test' GIT_COMMITTER_EMAIL='test@example.org'
cd "$work"
git init -q -b main repo
cd repo
git config core.autocrlf false

lines() { seq -f 'line %g' "$1" "$2"; }
mkdir -p src 'with space' module
lines 1 40 > src/main.txt
lines 1 20 > 'with space/a b.txt'
printf 'caf\351\n' > "$(printf 'latin\351.txt')"
printf 'one\r\ntwo\r\nthree\r\n' > crlf.txt
printf 'no newline' > bare.txt
lines 1 30 > 'renamed from.txt'
lines 1 30 > pure.txt
lines 100 130 > copied.txt
printf '\000\001\002binary' > image.bin
printf 'text\n' > swapped
: > was-empty.txt
lines 1 5 > deleted.txt
printf '#!/bin/sh\n' > script.sh
printf 'quoted\n' > "$(printf 'tab\there "and" quotes.txt')"
ln -s src/main.txt link
git add -A
git update-index --add --cacheinfo 160000,1111111111111111111111111111111111111111,module
git commit -q -m base

sed -i 's/^line 3$/line three/; s/^line 38$/line thirty-eight\nand one more/' src/main.txt
sed -i '/^line 10$/d' 'with space/a b.txt'
printf 'caf\351 au lait\n' > "$(printf 'latin\351.txt')"
printf 'one\r\nzwei\r\nthree\n' > crlf.txt
printf 'no newline still' > bare.txt
git mv 'renamed from.txt' 'renamed to.txt'
sed -i 's/^line 7$/line seven/' 'renamed to.txt'
mkdir deep
git mv pure.txt deep/pure.txt
cp copied.txt copy.txt
printf 'more\n' >> copy.txt
printf '\000\001\002binary, longer' > image.bin
printf '\000new' > new.bin
rm swapped
ln -s bare.txt swapped
printf 'no longer\n' > was-empty.txt
: > now-empty.txt
rm deleted.txt
chmod +x script.sh
printf 'quoted!\n' > "$(printf 'tab\there "and" quotes.txt')"
ln -sf src/other.txt link
git add -A
git update-index --add --cacheinfo 160000,2222222222222222222222222222222222222222,module
git commit -q -m 'change everything: Grüße'

git diff -M -C --find-copies-harder HEAD~ HEAD > "$out/git-default.patch"
git diff -M --binary --full-index HEAD~ HEAD > "$out/git-binary.patch"
git diff --no-prefix -U0 HEAD~ HEAD > "$out/git-no-prefix-u0.patch"
git diff --color=always -M HEAD~ HEAD -- src deep > "$out/git-colour.patch"
git diff -M --submodule=log HEAD~ HEAD -- module src > "$out/git-submodule-log.patch"
git -c diff.mnemonicPrefix=true diff -M -R HEAD~ > "$out/git-mnemonic-reverse.patch"
git show -M HEAD > "$out/git-show.patch"
git diff HEAD~ HEAD -- src crlf.txt | sed 's/$/\r/' > "$out/converted-to-crlf.patch"
git diff HEAD~ HEAD -- src > plain.tmp
{ printf '\377\376'; iconv -f UTF-8 -t UTF-16LE < plain.tmp; } > "$out/utf16.patch"
rm plain.tmp

printf 'temporary\n' > tmp.txt
sed -i 's/^line 20$/line twenty/' src/main.txt
git add -A
git commit -q -m 'add a file that does not stay'
git mv tmp.txt moved.txt
sed -i 's/^line twenty$/line 20/; s/^line 30$/line thirty/' src/main.txt
git commit -q -a -m 'move it, and take an edit back'
git rm -q moved.txt
sed -i 's/^line 5$/line five/' src/main.txt
git commit -q -a -m 'drop it' -m 'With --- in the
---
middle, and From here on more.'
git format-patch -q --stdout -M HEAD~3 > "$out/mailbox.patch"
git format-patch -q --stdout --attach -M HEAD~2 > "$out/mailbox-attached.patch"
git log -p -M --full-index HEAD~3.. > "$out/git-log.patch"

git checkout -q -b side HEAD~
printf 'side\n' > bare.txt
git commit -q -a -m side
git checkout -q main
printf 'main\n' > bare.txt
git commit -q -a -m main
git merge -q side > /dev/null 2>&1 || true
printf 'both\n' > bare.txt
git commit -q -a -m merge
git show --cc HEAD > "$out/combined.patch"

cd "$work"
mkdir one two
lines 1 40 > one/file.txt
lines 1 5 > one/gone.txt
sed 's/^line 3$/line three/' one/file.txt > two/file.txt
lines 1 3 > two/new.txt
printf '\000' > one/x.bin
printf '\000\001' > two/x.bin
find one two -exec touch -d '2024-05-01T10:00:00Z' {} +
diff -ruN one two > "$out/diff-run.patch" || true
diff -ru one two > "$out/diff-ru.patch" || true
diff -c one/file.txt two/file.txt > "$out/context.patch" || true
diff one/file.txt two/file.txt > "$out/normal.patch" || true
diff -e one/file.txt two/file.txt > "$out/ed.patch" || true
