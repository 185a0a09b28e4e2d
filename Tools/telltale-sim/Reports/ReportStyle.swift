extension RunReport {
    /// The report's style sheet: light and dark, from 320 pixels on.
    static let style: HTML = """
        :root { color-scheme: light dark; --ink: #1c1c1e; --dim: #66666d; --paper: #f5f5f7; --sheet: #ffffff; --line: #dedee3;
          --good: #1f7a3f; --bad: #b3261e; --c0: #2f6fde; --c1: #d9771f; --c2: #2c8a4b; --c3: #b83280; --c4: #7a5bd0;
          --c5: #12858a; --c6: #9a7d0a; --c7: #66666d; }
        @media (prefers-color-scheme: dark) { :root { --ink: #f2f2f5; --dim: #a0a0a9; --paper: #131316; --sheet: #1d1d21;
          --line: #35353c; --good: #62cf87; --bad: #ff7b72; --c0: #7aa7ff; --c1: #f5a75a; --c2: #62cf87; --c3: #f07fbf;
          --c4: #b39dff; --c5: #4fc6cb; --c6: #dfc24a; --c7: #a0a0a9; } }
        * { box-sizing: border-box; }
        body { font: 15px/1.5 system-ui, -apple-system, "Segoe UI", "Noto Sans", "DejaVu Sans", sans-serif; color: var(--ink);
          background: var(--paper); max-width: 66rem; margin: 0 auto; padding: 1.5rem 1rem 3rem; overflow-wrap: anywhere; }
        h1 { font-size: 1.6rem; line-height: 1.2; margin: 0; } h2 { font-size: 1.05rem; margin: 0 0 .6rem; }
        h3 { font-size: 1rem; margin: 0; } p { margin: .3rem 0; } figure, dl, dd, ol, ul { margin: 0; padding: 0; }
        code { font: 12.5px/1.45 ui-monospace, "DejaVu Sans Mono", monospace; }
        .about, .note, .dim { color: var(--dim); } .note { font-size: .87rem; }
        section, footer { background: var(--sheet); border: 1px solid var(--line); border-radius: 14px; padding: 1.1rem;
          margin-top: 1rem; min-width: 0; }
        .verdict { border-radius: 10px; padding: .6rem .8rem; margin: .8rem 0 0; font-weight: 600;
          border: 1px solid currentColor; } .verdict p { margin: 0; }
        .verdict ul { font-weight: 400; padding-left: 1.2rem; } .good { color: var(--good); } .bad { color: var(--bad); }
        .tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(8.3rem, 1fr)); gap: .6rem; margin-top: 1rem; }
        .tiles div { background: var(--sheet); border: 1px solid var(--line); border-radius: 12px; padding: .6rem .8rem; }
        .tiles dt { color: var(--dim); font-size: .8rem; } .tiles dd { font-size: 1.3rem; font-weight: 600; line-height: 1.3;
          font-variant-numeric: tabular-nums; } .tiles dd.dim { font-size: .8rem; font-weight: 400; }
        .columns { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(18rem, 100%), 1fr)); gap: 1.4rem; }
        table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
        th, td { text-align: right; padding: .3rem .5rem; border-bottom: 1px solid var(--line); font-weight: 400;
          white-space: nowrap; } tr > :first-child { text-align: left; padding-left: 0; }
        th[scope=col] { color: var(--dim); font-size: .85rem; } .wide { overflow-x: auto; }
        .counts th { white-space: normal; width: 45%; } .counts td:nth-child(2) { width: 40%; }
        .meter { display: block; height: .65rem; min-width: 2px; border-radius: 3px; background: var(--c0); }
        .chart { margin-top: 1.1rem; } .chart figcaption { font-size: .87rem; font-weight: 600; display: flex;
          flex-wrap: wrap; gap: .1rem 1rem; } .legend { display: flex; flex-wrap: wrap; gap: .1rem .9rem; font-weight: 400; }
        .key::before { content: ""; display: inline-block; width: .7rem; height: .7rem; border-radius: 3px; margin-right: .35rem;
          background: currentColor; } .legend .key { color: var(--dim); } .legend .key:empty { display: none; }
        .plot { display: grid; grid-template-columns: auto 1fr; grid-template-rows: 9.5rem 1.6rem; column-gap: .5rem;
          margin-top: .6rem; font-size: .78rem; color: var(--dim); font-variant-numeric: tabular-nums; }
        .plot .y { position: relative; width: 3.9rem; } .plot .y span { position: absolute; right: 0;
          transform: translateY(-50%); white-space: nowrap; }
        .plot svg { width: 100%; height: 100%; overflow: visible; display: block; }
        .plot .x { grid-column: 2; position: relative; } .plot .x span { position: absolute; top: .35rem;
          transform: translateX(-50%); white-space: nowrap; } .plot .x .first { transform: none; }
        .plot .x .last { transform: translateX(-100%); }
        svg .grid { stroke: var(--line); stroke-width: 1; vector-effect: non-scaling-stroke; }
        svg .curve { fill: none; stroke: currentColor; stroke-width: 1.8; stroke-linecap: round; stroke-linejoin: round;
          vector-effect: non-scaling-stroke; } svg .area { fill: currentColor; opacity: .18; }
        .c0 { color: var(--c0); } .c1 { color: var(--c1); } .c2 { color: var(--c2); } .c3 { color: var(--c3); }
        .c4 { color: var(--c4); } .c5 { color: var(--c5); } .c6 { color: var(--c6); } .c7 { color: var(--c7); }
        .legend .c0::before { background: var(--c0); } .legend .c1::before { background: var(--c1); }
        .legend .c2::before { background: var(--c2); } .legend .c3::before { background: var(--c3); }
        .legend .c4::before { background: var(--c4); } .legend .c5::before { background: var(--c5); }
        .legend .c6::before { background: var(--c6); } .legend .c7::before { background: var(--c7); }
        .story { list-style: none; } .story > li { display: grid; grid-template-columns: 4rem 1fr; gap: .8rem;
          padding: .9rem 0; border-top: 1px solid var(--line); } .story > li:first-child { border-top: 0; padding-top: 0; }
        .when { color: var(--dim); font-size: .85rem; font-variant-numeric: tabular-nums; padding-top: .1rem; }
        .scene { min-width: 0; } .deed code { color: var(--dim); } .checks { list-style: none; font-size: .85rem;
          color: var(--dim); } .checks li { padding-left: 1.2rem; text-indent: -1.2rem; } .checks b { color: var(--ink);
          font-weight: 500; } .checks li::before { content: "✓"; color: var(--good); display: inline-block; width: 1.2rem;
          text-indent: 0; } .checks .bad { color: var(--bad); } .checks .bad::before { content: "✗"; color: var(--bad); }
        .origin { display: grid; grid-template-columns: auto 1fr; gap: .3rem 1rem; } .origin dt { color: var(--dim); }
        @media (max-width: 40rem) { .story > li { grid-template-columns: 1fr; gap: .2rem; } .origin { grid-template-columns: 1fr;
          gap: 0; } .origin dd { margin-bottom: .5rem; } section, footer { padding: .9rem; } .screens { gap: .6rem; }
          .plot .y { width: 3.2rem; } th, td { padding: .3rem .35rem; }
          .figures tr { display: grid; grid-template-columns: 1fr 1fr 1fr; border-bottom: 1px solid var(--line); padding: .4rem 0; }
          .figures tr:first-child { display: none; } .figures th, .figures td { border: 0; padding: .05rem 0; text-align: left; }
          .figures th { grid-column: 1 / -1; font-weight: 600; } .figures td::before { content: attr(data-name) " ";
            color: var(--dim); font-size: .85em; } }
        footer ul { padding-left: 1.2rem; margin-bottom: 1rem; }
        """ + devices

    private static let devices: HTML = """
        .screens { display: flex; flex-wrap: wrap; gap: .9rem; align-items: flex-start; margin-top: .5rem; }
        .device { max-width: 100%; font-size: 13px; line-height: 1.35; } .device figcaption { color: var(--dim);
          font-size: .8rem; margin-bottom: .25rem; } .device p { margin: .1rem 0 0; opacity: .8; }
        .device.away { opacity: .45; } .glass { background: #0b0b0d; color: #f4f4f6; border: 3px solid #3a3a40; padding: .55rem;
          display: flex; flex-direction: column; gap: .45rem; }
        .carplay .glass { width: 20rem; min-height: 6.2rem; border-radius: 14px; background: linear-gradient(160deg, #16202e, #0b0b0d); }
        .watch .glass { width: 11.5rem; min-height: 6.2rem; border-radius: 30px; padding: .9rem .75rem; }
        .phone .glass { width: 15rem; min-height: 8.5rem; border-radius: 26px; padding: .6rem;
          background: linear-gradient(170deg, #39406b, #151726 75%); }
        .pad .glass, .standby .glass, .vision .glass { width: 19rem; min-height: 6.2rem; border-radius: 16px; }
        .full .glass { width: 19rem; border-radius: 10px; } .desktop .glass { width: 23rem; border-radius: 8px; padding: 0;
          border-width: 2px; background: linear-gradient(160deg, #4d5f86, #232b40); min-height: 3.4rem; }
        .carplay .glass, .watch .glass, .phone .glass, .pad .glass, .standby .glass, .vision .glass, .full .glass,
          .desktop .glass { max-width: 100%; }
        .menubar { display: flex; flex-wrap: wrap; gap: .2rem .8rem; padding: .15rem .6rem; border-radius: 5px 5px 0 0;
          background: rgba(10, 12, 20, .55); } .space { flex: 1; } .menubar .row { gap: .4rem; justify-content: flex-end; }
        .top { display: flex; flex-wrap: wrap; justify-content: center; gap: .4rem; min-height: 1.6rem; } .island { background: #000;
          border-radius: 999px; min-width: 4.2rem; min-height: 1.6rem; padding: .1rem .6rem; display: inline-flex;
          justify-content: center; align-items: center; gap: .9rem; white-space: nowrap; overflow: hidden; } .island.wide { justify-content: space-between; }
        .island.wide:only-child { gap: 3rem; } .island .inline { flex-wrap: nowrap; }
        .card { background: rgba(255, 255, 255, .13); border: 1px solid transparent; border-radius: 12px; padding: .45rem .6rem; }
        .card.lit { border-color: #ffd60a; } .card.faded, .item.faded { opacity: .55; } .card .app { opacity: .65;
          font-size: .85em; } .tag { float: right; font-size: .8em; border: 1px solid; border-radius: 6px; padding: 0 .35rem; }
        .row { display: flex; justify-content: space-between; align-items: baseline; gap: .6rem; } .inline { display: inline-flex;
          flex-wrap: wrap; gap: .1rem .35rem; align-items: baseline; } .symbol { margin-right: .35rem; }
        .inline .symbol { margin: 0; } .timer { color: #ffd60a; font-variant-numeric: tabular-nums; white-space: nowrap; }
        .device .dim { color: inherit; opacity: .75; } .device .key { font: 11.5px ui-monospace, "DejaVu Sans Mono", monospace; }
        .device .key::before { display: none; } .bar { display: flex; gap: 3px; margin-top: .35rem; color: #34c759; }
        .bar > i { flex: 1; height: 5px; border-radius: 3px; background: rgba(255, 255, 255, .22); overflow: hidden; }
        .bar i i { display: block; height: 100%; background: currentColor; } .buttons { display: flex; flex-wrap: wrap;
          gap: .35rem; margin-top: .4rem; } .button { border-radius: 999px; padding: .1rem .6rem; background: rgba(255, 255, 255, .2); }
        .button.on { background: #34c759; color: #06240f; } .button.dead { opacity: .45; }
        .switch { width: 2.1rem; height: 1.25rem; border-radius: 999px; background: rgba(255, 255, 255, .28); position: relative;
          flex: none; align-self: center; } .switch::after { content: ""; position: absolute; top: 2px; left: 2px;
          width: calc(1.25rem - 4px); height: calc(1.25rem - 4px); border-radius: 50%; background: #fff; }
        .switch.on { background: #34c759; } .switch.on::after { left: auto; right: 2px; }
        .press { width: 1.25rem; height: 1.25rem; border-radius: 50%; background: #0a84ff; flex: none; align-self: center; }
        .empty { text-align: center; margin: auto; opacity: .4; } .t-red { color: #ff6961; } .t-green { color: #34c759; }
        .t-orange { color: #ff9f0a; } .t-blue { color: #64b5ff; } .t-purple { color: #c39bff; }
        """
}
