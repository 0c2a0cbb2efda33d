import { t, type MessageKey } from '../i18n/index.ts';

const works: MessageKey[] = ['how.p1', 'how.p2', 'how.p3', 'how.p4', 'how.p5'];
const sure: MessageKey[] = ['how.sure1', 'how.sure2'];
const out: MessageKey[] = ['how.out1', 'how.out2', 'how.out3', 'how.out4'];

export function HowItWorks() {
  return (
    <section class="panel how" aria-labelledby="how-title" id="how" tabIndex={-1}>
      <h2 id="how-title">{t('how.title')}</h2>
      <div class="prose">
        <div>
          {works.map((key) => (
            <p>{t(key)}</p>
          ))}
        </div>
        <div>
          <h3>{t('how.sureTitle')}</h3>
          {sure.map((key) => (
            <p>{t(key)}</p>
          ))}
          <h3>{t('how.outTitle')}</h3>
          <ul>
            {out.map((key) => (
              <li>{t(key)}</li>
            ))}
          </ul>
          <h3>{t('how.paperTitle')}</h3>
          <p>{t('how.paper')}</p>
        </div>
      </div>
    </section>
  );
}
