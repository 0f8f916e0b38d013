from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("runs", "0036_probes"),
    ]

    operations = [
        migrations.AddField("cluster", "inventory", models.JSONField(blank=True, default=list)),
        migrations.AddField("cluster", "inventory_at", models.DateTimeField(blank=True, null=True)),
        migrations.AddField("cluster", "inventory_tried_at", models.DateTimeField(blank=True, null=True)),
    ]
