"""This machine, as a place where runs run."""

from django.db import migrations


def make_local(apps, schema_editor):
    apps.get_model("runs", "Cluster").objects.get_or_create(name="local", defaults={"kind": "local"})


class Migration(migrations.Migration):
    dependencies = [("runs", "0002_packed_outside")]
    operations = [migrations.RunPython(make_local, migrations.RunPython.noop)]
