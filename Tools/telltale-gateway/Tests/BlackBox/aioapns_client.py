"""PyPI aioapns, its source untouched: sends what it is given, and prints each answer."""

import asyncio
import json
import ssl
import sys

from aioapns import APNs, NotificationRequest, PushType


async def main():
    with open(sys.argv[1]) as file:
        key = file.read()
    client = APNs(
        key=key, key_id="KEY1234567", team_id="TEAM123456", topic="com.example.coffee.push-type.liveactivity",
        use_sandbox=False, ssl_context=ssl.create_default_context(cafile=sys.argv[2]))
    for line in sys.stdin:
        token, payload = json.loads(line)
        result = await client.send_notification(
            NotificationRequest(device_token=token, message=payload, push_type=PushType.LIVEACTIVITY))
        print(json.dumps([int(result.status), result.description]), flush=True)


asyncio.run(main())
