"""Nothing that a person would take for part of the cluster is left out without a word."""

import base64
import gzip
import io
import json
import os
import subprocess
import tarfile
import zipfile
from pathlib import Path

import pytest

from kschedctl.common.errors import ManifestError, SnapshotError
from kschedctl.linter.lint_files import read_files
from kschedctl.sources.snapshot.load import SnapshotReader, load_snapshot, read_manifest
from tests.builders import load_engine

pytestmark = pytest.mark.usefixtures("folder")

NODE = "apiVersion: v1\nkind: Node\nmetadata: {name: node-1}\nstatus: {allocatable: {cpu: '1', pods: '10'}}\n"
POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {nodeName: node-1}\n"
POD_JSON = json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}})
HEADER = {"kschedctlVersion": "1", "kinds": {"Node": 1, "Pod": 12, "Service": 0}}
NO_KIND = "was not read (the objects have no kind, and the path names none)"
OTHER_NAME = "not named .yaml, .yml, .json, .jsonl, .ndjson or one of these with .gz"


def write(files: dict[str, str | bytes]) -> None:
    for name, text in files.items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_bytes(text if isinstance(text, bytes) else text.encode())


def tar_of(files: dict[str, str | bytes], mode: str = "w") -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode=mode) as archive:  # type: ignore[call-overload]
        for name, text in files.items():
            content = text if isinstance(text, bytes) else text.encode()
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return stream.getvalue()


def zip_of(files: dict[str, str | bytes]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return stream.getvalue()


def unread(*paths: str) -> list[tuple[str, str]]:
    return [tuple(lack) for lack in load_snapshot(paths).cluster.unread]  # type: ignore[misc]


LOST = [
    pytest.param({".old/pods.yaml": POD}, "s/.old/pods.yaml was not read (hidden)", id="hidden-folder"),
    pytest.param({".pods.yaml": POD}, "s/.pods.yaml was not read (hidden)", id="hidden-file"),
    pytest.param({"pods.json.bak": POD_JSON}, f"s/pods.json.bak was not read ({OTHER_NAME})", id="bak"),
    pytest.param({"pods.txt": POD}, f"s/pods.txt was not read ({OTHER_NAME})", id="txt"),
    pytest.param({"pods": POD}, f"s/pods was not read ({OTHER_NAME})", id="no-suffix"),
    pytest.param({"pods.gz": gzip.compress(POD.encode())}, f"s/pods.gz was not read ({OTHER_NAME})", id="gz"),
    pytest.param(
        {"old.tar.gz": tar_of({"pods.yaml": POD}, "w:gz")},
        "s/old.tar.gz was not read (archive inside a folder or archive)",
        id="archive",
    ),
    pytest.param({"web.yaml": "metadata: {name: web}\nspec: {}\n"}, f"s/web.yaml {NO_KIND}", id="without-kind"),
    pytest.param({"web.json": '[{"metadata": {"name": "web"}}]'}, f"s/web.json {NO_KIND}", id="list-without-kind"),
    pytest.param({"pods.json": ""}, "s/pods.json was not read (empty)", id="empty-file"),
    *(
        pytest.param({name: text}, f"s/{name} was not read (holds no Kubernetes objects)", id=what)
        for what, name, text in (
            ("json-text", "pods.json", json.dumps(POD_JSON)),
            ("base64", "pods.yaml", base64.b64encode(POD.encode())),
            ("text-in-a-field", "pods.yaml", json.dumps({"text": POD})),
            ("another-key", "pods.json", f'{{"data": {{"pods": [{POD_JSON}]}}}}'),
            ("items-text", "pods.json", json.dumps({"apiVersion": "v1", "kind": "List", "items": f"[{POD_JSON}]"})),
            ("items-object", "pods.json", f'{{"apiVersion": "v1", "kind": "List", "items": {{"a": {POD_JSON}}}}}'),
            ("kind-number", "pods.yaml", POD.replace("kind: Pod", "kind: 5")),
            ("kind-list", "pods.yaml", POD.replace("kind: Pod", "kind: [Pod]")),
            ("watch-events", "pods.json", f'{{"type": "ADDED", "object": {POD_JSON}}}\n' * 2),
            ("statistics-of-a-kubelet", "stats.json", '{"node": {}, "pods": [{"podRef": {"name": "web"}}]}'),
            ("numbers-of-pods", "info.json", '{"pods": 77, "namespaces": {"a": {"count": 6}}}'),
        )
    ),
    *(
        pytest.param({"pods.yaml": text}, f"s/pods.yaml was not read ({reason})", id=what)
        for what, text, reason in (
            (
                "printed-table",
                "NAME    READY   STATUS    AGE\nweb-0   1/1     Running   5d\n",
                "is a table that kubectl prints: use -o yaml, which has the fields that scheduling reads",
            ),
            (
                "printed-description",
                "Name:         web-0\nNamespace:    shop\nPriority:     0\n",
                "is what kubectl describe prints: use kubectl get with -o yaml, which has the fields that "
                "scheduling reads",
            ),
        )
    ),
    *(
        pytest.param({name: text}, f"s/{name} was not read (not YAML or JSON)", id=what)
        for what, name, text in (
            ("log-as-json", "agent.json", "I0503 12:00:00 main.go:1] started: {\n"),
            ("cut-off", "values.yaml", "image: {tag: [1"),
            ("binary", "core.json", b"\x7fELF\0\0"),
            ("utf-16-without-mark", "report.json", "{}".encode("utf-16-le")),
            ("cut-off-roles", "roles.json", '{"kind": "RoleList", "apiVersion": "rbac.authorization.k8s.io/v1", "it'),
            ("tabs", "notes.yaml", "a:\n\tb: 1\n"),
        )
    ),
    pytest.param({"pods.b64": base64.b64encode(POD.encode())}, f"s/pods.b64 was not read ({OTHER_NAME})", id="b64"),
    pytest.param(
        {"README.md": f"# Pods\n\n```yaml\n{POD}```\n"},
        "s/README.md was not read (objects inside Markdown)",
        id="markdown",
    ),
    *(
        pytest.param({name: b"?"}, f"s/{name} was not read ({reason})", id=name)
        for reason, names in (
            ("compressed, and not with gzip", ("pods.yaml.xz", "pods.json.bz2", "pods.jsonl.zst")),
            ("archive inside a folder or archive", ("s.tar.xz", "s.txz", "s.tar.zst", "s.7z")),
        )
        for name in names
    ),
    *(
        pytest.param(
            {"pods.json": json.dumps({"apiVersion": version, "kind": kind, **more})},
            f"s/pods.json, document 1 was not read ({reason})",
            id=kind,
        )
        for version, kind, more, reason in (
            ("meta.k8s.io/v1", "Table", {"rows": []}, "a Table, which lacks the fields that scheduling reads"),
            (
                "meta.k8s.io/v1",
                "PartialObjectMetadata",
                {"metadata": {"name": "web"}},
                "metadata alone, without the fields that scheduling reads",
            ),
            ("v1", "WatchEvent", {"type": "ADDED"}, "an event of a watch, not an object"),
            ("v1", "Status", {"status": "Failure"}, "an error of the API server in place of objects"),
            ("template.openshift.io/v1", "Template", {"objects": []}, "a Template, which is not processed"),
        )
    ),
    pytest.param(
        {f"p{i}.txt": POD for i in range(8)},
        f"s/p0.txt, s/p1.txt, s/p2.txt, s/p3.txt, s/p4.txt and 3 more were not read ({OTHER_NAME})",
        id="many",
    ),
]


@pytest.mark.parametrize(("files", "what"), LOST)
def test_what_a_folder_has_besides_is_named_and_the_answer_is_incomplete(
    files: dict[str, str | bytes], what: str
) -> None:
    write({"s/nodes.yaml": NODE, **{f"s/{name}": text for name, text in files.items()}})
    assert unread("s") == [("File", what)]
    cluster = load_engine("s")
    assert what in [missing.needed_for for missing in cluster.missing({"metadata": {"name": "new"}})]


@pytest.mark.parametrize(("files", "what"), LOST)
@pytest.mark.parametrize("kind", ["tar", "zip"])
def test_what_an_archive_has_besides_is_named(files: dict[str, str | bytes], what: str, kind: str) -> None:
    packed = {"nodes.yaml": NODE, **files}
    write({f"s.{kind}": tar_of(packed) if kind == "tar" else zip_of(packed)})
    assert unread(f"s.{kind}") == [("File", what.replace("s/", f"s.{kind}:"))]


@pytest.mark.parametrize(
    "files",
    [
        pytest.param({"web/logs.txt": "==== START logs for container web of pod web ====\nkind: Pod"}, id="logs"),
        pytest.param({".git/config": POD, ".git/objects/ab": "x"}, id="version-control"),
        pytest.param({"values.yaml": "replicas: 2\n", "timestamp": "2026-01-01", "x.html": "<html>"}, id="others"),
        pytest.param({"audit.log": '{"kind":"Event","apiVersion":"audit.k8s.io/v1"}'}, id="audit"),
        pytest.param({"README.md": "# Pods\n```\nkubectl get pods\n```\n", "a.log.xz": b"?"}, id="no-objects"),
        pytest.param({"ok.json": '{"apiVersion": "v1", "kind": "Status", "status": "Success"}'}, id="success"),
        pytest.param({"a.json": '{"a": [{"kind": "Pod"}, "kind: Pod"]}', "b.yaml": "cGFzc3dvcmQ=" * 9}, id="words"),
        pytest.param({"cm.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n"}, id="other-kinds"),
    ],
)
def test_files_of_other_programs_are_no_reason_to_warn(files: dict[str, str | bytes]) -> None:
    write({"s/nodes.yaml": NODE, **{f"s/{name}": text for name, text in files.items()}})
    assert unread("s") == []


def test_files_that_seem_to_have_objects_are_named_where_none_is_read() -> None:
    write({"s/kubectl_get_-o_json_pods": POD_JSON, "s/version.txt": "4.8"})
    with pytest.raises(SnapshotError) as raised:
        unread("s")
    assert str(raised.value).endswith(f"2 {OTHER_NAME}; objects seem to be in s/kubectl_get_-o_json_pods")


def test_a_linked_folder_is_named_unless_it_is_read_anyway() -> None:
    write({"s/nodes.yaml": NODE, "elsewhere/pods.yaml": POD})
    Path("s/again").symlink_to(Path("s").resolve())
    assert unread("s") == []
    Path("s/more").symlink_to(Path("elsewhere").resolve())
    assert unread("s") == [("File", "s/more was not read (link to a folder)")]
    assert unread("s", "elsewhere") == []


def test_the_hidden_copies_of_a_mounted_config_map_are_what_the_links_lead_to() -> None:
    write({"s/..2026/nodes.yaml": NODE})
    Path("s/..data").symlink_to("..2026")
    Path("s/nodes.yaml").symlink_to("..data/nodes.yaml")
    assert unread("s") == []


@pytest.mark.parametrize("name", ["pods.yaml", "pods"])
def test_a_link_to_itself_is_named(name: str) -> None:
    write({"s/nodes.yaml": NODE})
    Path(f"s/{name}").symlink_to(name)
    try:
        said = str(unread("s"))
    except SnapshotError as error:
        said = str(error)
    assert f"s/{name}" in said


def test_a_link_in_a_tar_is_named_unless_it_leads_to_a_member() -> None:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        content = NODE.encode()
        member = tarfile.TarInfo("a/nodes.yaml")
        member.size = len(content)
        archive.addfile(member, io.BytesIO(content))
        for name, target in (("b/nodes.yaml", "../a/nodes.yaml"), ("latest", "a"), ("pods.yaml", "../pods.yaml")):
            link = tarfile.TarInfo(name)
            link.type, link.linkname = tarfile.SYMTYPE, target
            archive.addfile(link)
    write({"s.tar": stream.getvalue()})
    assert unread("s.tar") == [("File", "s.tar:pods.yaml was not read (not a regular file)")]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param(
            POD.replace("kind: Pod", "kind: pod"),
            "no API server serves the kind pod (v1)\n  did you mean Pod (v1)?",
            id="small-letters",
        ),
        pytest.param(
            POD.replace("v1", "core/v1", 1),
            "no API server serves the kind Pod (core/v1)\n  did you mean Pod (v1)?",
            id="core-as-a-group",
        ),
        pytest.param(
            '{"kind":"podList","apiVersion":"v1","items":[{"metadata":{"name":"web"}}]}',
            "no API server serves the kind pod (v1)\n  did you mean Pod (v1)?",
            id="list",
        ),
        *(
            pytest.param(POD.replace("kind: Pod", f'kind: "{kind}"'), f'kind: "{shown}" is not a kind', id=what)
            for what, kind, shown in (
                ("space", "Pod ", "Pod "),
                ("tab", "\\tPod", "\\tPod"),
                ("invisible", "Pod\u200b", "Pod\u200b"),
                ("cyrillic", "P\u043ed", "P\u043ed"),
            )
        ),
        *(
            pytest.param(
                f'{{"apiVersion": "v1", "kind": "{kind}", "{key}": [{POD_JSON}]}}',
                f'items: is missing\n  the list "{key}" is not read: lists of objects are in items',
                id=f"{kind}-{key}",
            )
            for kind in ("List", "PodList")
            for key in ("Items", "objects")
        ),
        pytest.param("apiVersion: v1\n\tkind: Pod\n", "found a tab character that violates indentation", id="tabs"),
        pytest.param(b"\xfd7zXZ\0...", "is compressed with xz\n  unpack it, or pack it with gzip, zip or tar", id="xz"),
    ],
)
def test_a_kind_that_is_written_wrong_is_refused(text: str | bytes, message: str) -> None:
    write({"s/nodes.yaml": NODE, "s/pods.yaml": text})
    with pytest.raises(SnapshotError) as raised:
        unread("s")
    assert message in str(raised.value)


MEMBERS: dict[str, str | bytes] = {"nodes.yaml": NODE, "pods.yaml": POD}


@pytest.mark.parametrize("mode", ["w", "w:gz"])
@pytest.mark.parametrize(
    ("change", "message"),
    [
        pytest.param(
            lambda tar: tar[:1024] + b"\xff" * 512 + tar[1536:],
            "is a broken archive: a member cannot be read: bad checksum",
            id="damaged-header",
        ),
        pytest.param(
            lambda tar: tar[:1024], "is a broken archive: it is truncated: its end marker is missing", id="cut"
        ),
        pytest.param(
            lambda tar: tar[:1300], "is a broken archive: it is truncated: its end marker is missing", id="cut-in-it"
        ),
        pytest.param(
            lambda tar: tar + tar,
            "is a broken archive: more data follows its end, as in joined archives: give them one by one",
            id="joined",
        ),
    ],
)
def test_a_tar_that_ends_early_is_refused(mode: str, change: object, message: str) -> None:
    assert callable(change)
    tar = change(tar_of(MEMBERS))
    write({"s.tar": gzip.compress(tar) if mode == "w:gz" else tar})
    with pytest.raises(SnapshotError, match=message):
        unread("s.tar")


def test_the_counts_of_a_header_are_held_against_what_was_read() -> None:
    write({"s/snapshot.json": json.dumps(HEADER), "s/nodes.yaml": NODE})
    assert unread("s") == [("Pod", "its header counts 12 Pods, but 0 were found")]
    assert [each.effect for each in load_snapshot(["s"]).cluster.unread] == ["the missing ones are ignored"]
    write({"more.json": json.dumps({"apiVersion": "v1", "kind": "List", "items": [json.loads(POD_JSON)] * 12})})
    assert unread("s", "more.json") == []


def test_every_file_and_what_became_of_it_is_in_the_summary() -> None:
    write({"s/nodes.yaml": NODE, "s/.x/pods.yaml": POD, "s/logs.txt": "x", "s/snapshot.json": json.dumps(HEADER)})
    reader = SnapshotReader(["s"])
    list(reader)
    assert reader.summary.files == {"s/nodes.yaml": 1, "s/snapshot.json": 0}
    assert [(passed.name, passed.reason) for passed in reader.summary.passed] == [
        ("s/.x/pods.yaml", "hidden"),
        ("s/logs.txt", OTHER_NAME),
    ]


def test_manifests_are_refused_where_nobody_hears_of_what_was_skipped() -> None:
    write({"m/a.yaml": POD, "m/b.yaml.bak": POD})
    assert [each.effect for each in load_snapshot(["m"]).cluster.unread] == ["the contents are ignored"]
    manifest = read_manifest("m", allow_others=True)
    assert len(manifest.objects) == 1
    assert manifest.unread == (f"m/b.yaml.bak was not read ({OTHER_NAME})",)
    with pytest.raises(ManifestError, match=r"b\.yaml\.bak was not read"):
        read_manifest("m")


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_file_of_another_name_that_cannot_be_opened_is_named() -> None:
    write({"s/nodes.yaml": NODE, "s/pods.txt": POD})
    Path("s/pods.txt").chmod(0)
    assert unread("s") == [("File", f"s/pods.txt was not read ({OTHER_NAME}, cannot be opened)")]


def test_deeply_nested_folders_are_read() -> None:
    # The path of the whole is longer than one call can name.
    top = os.getcwd()
    write({"s/nodes.yaml": NODE})
    try:
        os.chdir("s")
        for _ in range(1500):
            os.mkdir("d")
            os.chdir("d")
        Path("pod.yaml").write_text(POD)
        os.chdir(top)
        assert sum(1 for _ in SnapshotReader(["s"])) == 2
    finally:
        os.chdir(top)
        # What pytest cleans up with is recursive, too.
        subprocess.run(["rm", "-rf", "s"], check=True)


def test_documentation_beside_manifests_is_not_named() -> None:
    write({"m/pod.yaml": POD, "m/README.md": f"```yaml\n{POD}```\n"})
    assert read_manifest("m").unread == ()
    assert read_files(["m"], None).summary.passed == []
